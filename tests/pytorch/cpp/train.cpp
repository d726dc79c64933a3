/// A program that uses libtorch without Python: trains the same small network on the CPU and on rvk, step by
/// step. Writes the trained parameters to the file given as its argument. Exit status 0: the losses agree and
/// fall by half.

#include <cmath>
#include <cstdio>
#include <exception>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>
#include <torch/serialize.h>
#include <vector>

namespace {

constexpr int steps = 40;
constexpr double tolerated_difference = 1e-4; // relative, float32

torch::nn::Sequential make_net() {
    torch::manual_seed(7);
    return torch::nn::Sequential(torch::nn::Linear(8, 32), torch::nn::BatchNorm1d(32), torch::nn::ReLU(),
                                 torch::nn::Linear(32, 1));
}

std::vector<double> train(torch::nn::Sequential& net, torch::Device device) {
    torch::manual_seed(8);
    const torch::Tensor x = torch::randn({64, 8}).to(device);
    const torch::Tensor y = (x * x).sum(1, /*keepdim=*/true);
    torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(0.05));
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
        optimizer.zero_grad();
        const torch::Tensor loss = torch::nn::functional::mse_loss(net->forward(x), y);
        loss.backward();
        optimizer.step();
        losses.push_back(loss.item<double>());
    }
    return losses;
}

bool agree(const std::vector<double>& expected, const std::vector<double>& losses) {
    for (std::size_t i = 0; i < losses.size(); ++i)
        if (!(std::abs(losses[i] - expected[i]) <= tolerated_difference * expected[i])) {
            std::printf("step %zu: %.9g, the CPU has %.9g\n", i, losses[i], expected[i]);
            return false;
        }
    return true;
}

int run(const char* file) {
    const torch::Device rvk("rvk");
    auto on_cpu = make_net();
    const auto expected = train(on_cpu, torch::kCPU);
    auto net = make_net();
    net->to(rvk);
    for (const torch::Tensor& tensor : net->buffers())
        TORCH_CHECK(tensor.device().type() == rvk.type(), "a buffer was not moved to the device");
    const auto losses = train(net, rvk);
    std::printf("loss %.6f to %.6f\n", losses.front(), losses.back());
    torch::save(net->parameters(), file);
    return agree(expected, losses) && losses.back() < losses.front() / 2 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: train FILE\n");
        return 2;
    }
    try {
        return run(argv[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
