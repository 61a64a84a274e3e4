"""Groups as people see them: lists, descriptions, members, actions, history, live sockets; and who may do what."""
