"""Reports: a study, a result or a comparison as one page of HTML that needs nothing else."""
