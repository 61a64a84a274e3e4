"""`manage.py demo`: lifelike groups against the broker that `make up` started, until Ctrl-C."""

from __future__ import annotations

import random
import signal
import threading
from typing import Any

from confluent_kafka import KafkaException
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kaasadmin.demo.scenes import SCENES, TOPICS, Stage
from kaasadmin.demo.traffic import Traffic, make_topics
from kaasadmin.environment import environment


class Command(BaseCommand):
    help = "Drives lifelike consumer groups against the embedded broker until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seed", type=int, default=7, help="of the dice that the scenes throw")
        parser.add_argument("--seconds", type=float, help="end by itself after so long")
        parser.add_argument("--bootstrap", help="another broker than the embedded one")

    def handle(self, *args: Any, **options: Any) -> None:
        env = environment()
        bootstrap = options["bootstrap"] or env.broker_bootstrap
        ending = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ending.set())
        try:
            make_topics(bootstrap, TOPICS)
        except KafkaException as problem:
            raise CommandError(f"no broker answers at {bootstrap} ({problem}); start it with `make up`") from None
        dice = random.Random(options["seed"])
        traffic = Traffic(bootstrap, TOPICS, dice)
        stage = Stage(bootstrap=bootstrap, dice=dice, ending=ending)
        scenes = [threading.Thread(target=scene, args=(stage,), name=scene.__name__) for scene in SCENES]
        for scene in scenes:
            scene.start()
        self.stdout.write(
            f"{len(SCENES)} scenes play; look at http://{env.web_host}:{env.web_port}{env.base_path}/ (Ctrl-C ends)"
        )
        ending.wait(options["seconds"])
        ending.set()
        for scene in scenes:
            scene.join()
        traffic.stop()
