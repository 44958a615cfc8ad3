"""The four dashboards that the source of the steps names: their numbers as tables and as charts. Pure."""
