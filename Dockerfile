# One image for every process of kaasadmin: broker, web, worker. The command says which.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

COPY requirements.txt .
RUN pip install --disable-pip-version-check -r requirements.txt

COPY manage.py ./
COPY kaas kaas
COPY kaasadmin kaasadmin
COPY groups groups
COPY offsets offsets
COPY templates templates
COPY static static

RUN useradd --system --create-home --uid 10001 kaas \
    && mkdir -p /data && chown kaas:kaas /data \
    && KAAS_DATA=/tmp/build python manage.py collectstatic --noinput --verbosity 0 \
    && rm -rf /tmp/build
USER kaas
ENV KAAS_DATA=/data
VOLUME /data
