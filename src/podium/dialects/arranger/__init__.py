"""Arranger: TYJobs, a leader and sets of workers whose places are found before their pods are made."""
