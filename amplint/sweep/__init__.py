"""Code past one machine: folders, repositories and data sets of code, linted batch by batch on Dask."""
