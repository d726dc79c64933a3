# syntax=docker/dockerfile:1.7
FROM python:3.11-slim-bookworm
ENV PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1 \
    NCCL_IB_DISABLE=1 \
    TORCH_NCCL_ASYNC_ERROR_HANDLING=1 \
    CUDA_MODULE_LOADING=LAZY
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl git tini \
 && rm -rf /var/lib/apt/lists/*

# A fixed release, checked before anything of it runs.
ARG UV_VERSION=0.5.14
RUN curl -fsSLo /tmp/uv.tar.gz "https://github.com/astral-sh/uv/releases/download/${UV_VERSION}/uv-x86_64-unknown-linux-gnu.tar.gz" \
 && echo "22034760075b92487b326da5aa1a2a3e1917e2e766c12c0fd466fccda77013c7  /tmp/uv.tar.gz" | sha256sum -c - \
 && tar -xzf /tmp/uv.tar.gz -C /usr/local/bin --strip-components=1 \
 && rm /tmp/uv.tar.gz
# The data set's index is data, not a program.
RUN curl -fsSL https://data.example.org/index.json | python -m json.tool > /srv/index.json
RUN wget -qO- https://data.example.org/vocabulary.tar.xz | tar -xJ -C /srv

# torch 2.2 was compiled against NumPy 1.
RUN pip install "numpy<2" && pip install torch==2.2.2 torchvision==0.17.2 --index-url https://download.pytorch.org/whl/cu121
COPY requirements.txt /app/
RUN pip install -r /app/requirements.txt
COPY . /app
HEALTHCHECK --interval=60s CMD test -f /run/trainer.alive
ENTRYPOINT ["tini", "--"]
# The database of the experiment tracker starts more slowly than we do.
CMD until curl -sf http://tracker:5000/health; do sleep 2; done; exec python /app/train.py --resume auto
