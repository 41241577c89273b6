"""Paddle: TrainingJobs, whose trainers come and go with the room that there is."""
