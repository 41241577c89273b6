"""The report of one or several runs: pictures and a page, made from the JSON document and nothing else."""
