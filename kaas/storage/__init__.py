"""Everything on the volume: the journal, the checkpoint files of groups, topic logs. Plain files and threads, no
event loop.
"""
