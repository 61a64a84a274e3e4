"""Django's settings, made from environment variables alone (kaasadmin.environment names them all).

Job: wiring of what Django, DRF, Channels, Celery and WhiteNoise need to know.
Rules: no value is read from anywhere else; nothing here differs between tests and production but what a variable says.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import dj_database_url

from groups.clusters import clusters_from
from groups.lag.samples import Step
from groups.provider import Provider
from kaasadmin.data_folder import celery_broker_url, redis_url, secret_key
from kaasadmin.environment import environment
from kaasadmin.logs import configure_logs

KAAS = environment()
BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = KAAS.secret_key or secret_key(KAAS.data)
DEBUG = KAAS.debug
ALLOWED_HOSTS = list(KAAS.allowed_hosts)

KAAS_CLUSTERS = clusters_from(
    text=KAAS.clusters,
    local_bootstrap=KAAS.broker_bootstrap,
    local_registry=KAAS.schema_registry,
    read_only=KAAS.read_only,
)
KAAS_SCHEMA_REGISTRY_TIMEOUT_MS = KAAS.schema_registry_timeout_ms
KAAS_REDIS_URL = redis_url(KAAS.data, KAAS.redis_url)
KAAS_KAFKA_TIMEOUT_MS = KAAS.kafka_timeout_ms
KAAS_JOB_PARTITIONS = KAAS.job_partitions
KAAS_HISTORY_DAYS = KAAS.history_days
KAAS_LAG_STEPS = tuple(Step(step_ms, kept_ms) for step_ms, kept_ms in KAAS.lag_kept)
KAAS_LAG_ROWS = KAAS.lag_rows
KAAS_WEBHOOK_PRIVATE = KAAS.webhook_private
KAAS_TRUSTED_ORIGINS = KAAS.trusted_origins
KAAS_TRUSTED_PROXIES = KAAS.trusted_proxies
KAAS_API_PER_MINUTE = KAAS.api_per_minute

INSTALLED_APPS = [
    "whitenoise.runserver_nostatic",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "kaasadmin",
    "groups",
    "offsets",
]

MIDDLEWARE = [
    "kaasadmin.middleware.RequestIdMiddleware",
    "kaasadmin.middleware.SecurityHeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "kaasadmin.static_files.StaticFilesMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # pads at random, so that sizes tell nothing of what a page holds
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "kaasadmin.urls"
ASGI_APPLICATION = "kaasadmin.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Data

_SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": KAAS.data / "console.sqlite3",
    "OPTIONS": {
        # Readers never wait for the writer (WAL); a writer takes its lock at the start, so it waits instead of failing.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    },
    # Tests use a file too: a database in memory that threads share knows no waiting for a lock.
    "TEST": {"NAME": Path(tempfile.gettempdir()) / f"kaas-test-{os.getpid()}.sqlite3"},
}
DATABASES = {"default": dj_database_url.parse(KAAS.database_url) if KAAS.database_url else _SQLITE}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [KAAS_REDIS_URL]}}
}

# Sign-in

HSTS_S = 365 * 24 * 3600

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = KAAS.https
SESSION_COOKIE_NAME = f"kaas_session_{KAAS.web_port}"  # two copies on one host share the cookie jar, not the cookie
CSRF_COOKIE_NAME = f"kaas_csrf_{KAAS.web_port}"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = list(KAAS.trusted_origins)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if KAAS.https else None
SECURE_HSTS_SECONDS = HSTS_S if KAAS.https else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

KAAS_OPENID = None
if KAAS.oidc_issuer:
    KAAS_OPENID = Provider(
        issuer=KAAS.oidc_issuer,
        client_id=KAAS.oidc_client_id,
        client_secret=KAAS.oidc_client_secret,
        name=KAAS.oidc_name,
        scopes=KAAS.oidc_scopes,
        role_claim=KAAS.oidc_role_claim,
        roles=KAAS.oidc_roles,
    )

# Addresses and files

FORCE_SCRIPT_NAME = KAAS.base_path or None
STATIC_URL = f"{KAAS.base_path}/static/"
STATIC_ROOT = KAAS.data / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STATICFILES_DIRS = [path for path in (BASE_DIR / "static",) if path.is_dir()]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
# `collectstatic` brings compressed copies; without it files are served from where they are.
WHITENOISE_USE_FINDERS = not any(STATIC_ROOT.iterdir())
WHITENOISE_AUTOREFRESH = DEBUG

# Words and times: everything is stored and answered in UTC; pages show the reader's zone beside it.

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"

# API

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "groups.api.authentication.BearerAuthentication",
        "groups.api.authentication.CsrfSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["groups.api.parsers.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "groups.api.negotiation.Negotiation",
    "DEFAULT_THROTTLE_CLASSES": ["groups.api.throttling.CallerThrottle"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "groups.api.schema.Schema",
    "EXCEPTION_HANDLER": "groups.api.problems.problem_response",
    "NON_FIELD_ERRORS_KEY": "request",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "kaasadmin",
    "DESCRIPTION": "What every Kafka consumer group is doing, why it rebalanced, and safe ways to fix it.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        f"{name}Enum": f"groups.choices.{name}"
        for name in ("AlertState", "DeliveryState", "GroupState", "ItemState", "JobState", "LagStatus")
    },
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "groups.api.schema.complete"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# Tasks

CELERY_BROKER_URL = celery_broker_url(KAAS_REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_BEAT_SCHEDULE_FILENAME = os.fspath(KAAS.data / "beat-schedule")
CELERY_TIMEZONE = "UTC"
# Tasks wait for Redis, the database and Kafka, and librdkafka's threads do not outlive a fork: threads, not processes.
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = 4

# Logs

LOGGING_CONFIG = None
configure_logs(log_format=KAAS.log_format, log_level=KAAS.log_level)
