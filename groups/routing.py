"""The addresses of the live sockets."""

from django.urls import path

from groups.live import GroupListSocket, GroupSocket

websocket_urlpatterns = [
    path("ws/clusters/<str:cluster>/groups/", GroupListSocket.as_asgi()),
    path("ws/clusters/<str:cluster>/groups/<str:group>/", GroupSocket.as_asgi()),
]
