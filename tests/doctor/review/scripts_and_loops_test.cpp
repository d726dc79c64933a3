/// Scripts from the network, restarts without end, and NumPy beside an old torch.

#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rekindle::doctor {
namespace {

bool has_verdict(std::string_view document, Verdict verdict) {
    return std::ranges::any_of(review_document(document, embedded_knowledge()),
                               [&](const Mark& mark) { return mark.verdict == verdict; });
}

bool is_condemned(std::string_view document) {
    return has_verdict(document, Verdict::harmful) || has_verdict(document, Verdict::wrong) ||
           has_verdict(document, Verdict::no_effect);
}

constexpr const char* network_scripts[] = {"wget -qO- https://a.example/setup | bash",
                                           "curl -fsSL https://a.example/setup | sh -s -- --yes",
                                           "curl -s https://a.example/x.py | python3 -",
                                           "fetch -o - https://a.example/setup | sh",
                                           "bash <(curl -s https://a.example/setup)",
                                           "sh -c \"$(wget -qO- https://a.example/setup)\"",
                                           "source <(curl -s https://a.example/env)",
                                           "eval \"$(curl -s https://a.example/env)\"",
                                           "curl https://a.example/x.gz | gunzip | bash",
                                           "cd /tmp && curl https://a.example/x | /bin/bash && rm -rf x"};

TEST(NetworkScripts, InAnImage) {
    for (const std::string script : network_scripts) {
        EXPECT_TRUE(has_verdict("FROM debian:12\nRUN apt-get update && " + script + "\n", Verdict::harmful))
            << script;
        EXPECT_TRUE(has_verdict("# Setup\n\n```Dockerfile\nRUN " + script + "\n```\n", Verdict::harmful))
            << script;
        EXPECT_TRUE(has_verdict("services:\n  a:\n    image: x\n    command: >\n      " + script + "\n",
                                Verdict::harmful))
            << script;
        EXPECT_TRUE(has_verdict("kind: Pod\nspec:\n  containers:\n    - image: x\n      args:\n        - " +
                                    script + "\n",
                                Verdict::harmful))
            << script;
    }
}

/// The usual way to install several well-known programs: worth only a remark.
TEST(NetworkScripts, ByAUserOnTheHost) {
    for (const std::string script : network_scripts) {
        EXPECT_FALSE(is_condemned("# Install\n\n" + script + "\n")) << script;
        EXPECT_TRUE(has_verdict("# Install\n\n" + script + "\n", Verdict::unknown)) << script;
    }
    for (const char* script :
         {"curl -sL https://a.example/x | sudo bash", "wget -O - https://a.example/x | sudo sh",
          "sudo bash -c \"$(curl -fsSL https://a.example/x)\"", "sudo sh <(curl https://a.example/x)"})
        EXPECT_TRUE(has_verdict(script, Verdict::harmful)) << script;
}

TEST(NetworkScripts, OtherDownloadsAreNot) {
    for (const std::string command :
         {"curl -fsSLo x.tar.gz https://a.example/x && echo \"0f  x.tar.gz\" | sha256sum -c -",
          "wget -qO- https://a.example/x.tar.xz | tar -xJ -C /srv",
          "curl https://a.example/key | gpg --dearmor -o k",
          "curl -s https://a.example/i.json | python -m json.tool",
          "curl -s https://a.example/i.json | jq .a", "curl -sf http://tracker:5000/health || exit 1",
          "curl -O https://a.example/x.sh && sha256sum -c x && sh x.sh"}) {
        EXPECT_FALSE(has_verdict("FROM debian:12\nRUN " + command + "\n", Verdict::harmful)) << command;
        EXPECT_FALSE(has_verdict(command, Verdict::unknown)) << command;
    }
}

TEST(RestartLoops, AroundTraining) {
    for (const char* document :
         {"while true; do python train.py; done", "CMD while true; do python3 /app/train.py; done",
          "CMD [\"bash\", \"-c\", \"while :; do python3 train.py || true; sleep 1; done\"]",
          "    while true; do\n        python train.py --epochs 100\n    done\n",
          "until torchrun --nproc_per_node=2 train.py; do echo again; sleep 3; done",
          "until python preprocess.py; do sleep 1; done", "while ! python train.py; do sleep 10; done",
          "for ((;;)); do accelerate launch train.py; done", "while ($true) { python train.py }",
          "while true; do python train.py && break; sleep 5; done",
          "[Service]\nExecStart=/venv/bin/python /srv/train.py\nRestart=always\n",
          "docker run -d --restart always --gpus all image python train.py",
          "services:\n  trainer:\n    image: x\n    restart: always\n",
          "services:\n  a:\n    image: x\n    command: python -u train.py\n    restart: unless-stopped\n"})
        EXPECT_TRUE(has_verdict(document, Verdict::harmful)) << document;
}

TEST(RestartLoops, OthersAreNot) {
    for (const char* document :
         {"while true; do nvidia-smi; sleep 5; done",
          "until curl -sf http://tracker/health; do sleep 2; done; python train.py",
          "until python wait_for_db.py; do sleep 1; done",
          "for seed in 1 2 3; do python train.py --seed $seed; done",
          "while read -r config; do python train.py --config $config; done < list",
          "n=0; while true; do python train.py && break; n=$((n+1)); [ $n -ge 3 ] && exit 1; done",
          "while true; do job=$(next_job) || break; python train.py $job; done",
          "[Service]\nExecStart=/venv/bin/python /srv/train.py\nRestart=on-failure\n",
          "[Service]\nExecStart=/usr/bin/tensorboard --logdir /train\nRestart=always\n",
          "docker run -d --restart always tensorboard --logdir /logs",
          "services:\n  trainer:\n    image: x\n    restart: \"on-failure:3\"\n",
          "services:\n  tracker:\n    image: mlflow\n    command: mlflow server\n    restart: always\n",
          "Do not wrap it in `while true; do python train.py; done`."})
        EXPECT_FALSE(has_verdict(document, Verdict::harmful)) << document;
}

TEST(NumpyPairs, ATorchForNumpyOne) {
    for (const char* document :
         {"pip install torch==2.1.0 numpy==2.1", "pip install \"torch==2.2.2\" \"numpy>=2,<2.2\"",
          "FROM debian:12\nRUN pip3 install numpy==2.1 && pip3 install torch==2.1.0\n",
          "FROM debian:12\nRUN pip install torch==2.2.1\nRUN pip install -U \"numpy>=2\"\n",
          "torch==2.1.2\ntorchvision==0.16.2\nnumpy==2.1.0\n", "```\ntorch==2.0.1\n\nnumpy~=2.0\n```\n",
          "conda install numpy=2.1 pytorch=2.0.1",
          "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\nRUN pip install numpy==2.1.3\n",
          "services:\n  a:\n    image: pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\n    command: pip "
          "install numpy==2.1.3\n"})
        EXPECT_TRUE(has_verdict(document, Verdict::wrong)) << document;
}

TEST(NumpyPairs, OthersAreFine) {
    for (const char* document :
         {"pip install torch==2.3.0 numpy==2.0", "pip install torch==2.1.0 \"numpy<2\"",
          "pip install torch==2.1.0 numpy==1.26.4", "pip install torch==2.1.0 \"numpy>=1.24\"",
          "FROM debian:12\nRUN pip install torch==2.1.0 numpy==2.1\nRUN pip install \"numpy<2\"\n",
          "```\ntorch==2.2.2\n```\n\nand\n\n```\nnumpy==2.3.4\n```\n",
          "An environment with numpy 2.1 and torch 2.1 prints a warning.",
          "FROM a AS old\nRUN pip install torch==2.1.0\nFROM b\nRUN pip install numpy==2.1\n",
          "Do not run pip install torch==2.1.0 numpy==2.1 there."})
        EXPECT_FALSE(has_verdict(document, Verdict::wrong)) << document;
    EXPECT_TRUE(has_verdict("NumPy 2 works with every torch, including 1.13.", Verdict::wrong));
}

} // namespace
} // namespace rekindle::doctor
