"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, driven by the members themselves."""
