from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # how long an example takes says something of the machine only
settings.load_profile("untimed")
