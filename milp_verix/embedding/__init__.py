"""Networks inside models of Pyomo, gurobipy and PuLP."""
