"""Models of the library transformers for texts, images and sounds, with random weights: as on the CPU.

Each computes its results, makes one step of training, computes them again with the new weights, and generates where
that is possible.

Arguments: the models to run; all of MODELS without one.
"""

import copy
import json
import sys

import torch
import torch_npu  # noqa: F401  (registers the device)
import transformers

TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 97,
    "max_position_embeddings": 64,
}
START = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3}
IMAGE = {**{key: TEXT[key] for key in list(TEXT)[:4]}, "image_size": 32, "patch_size": 8}
SPEECH = {
    "d_model": 32,
    "vocab_size": 97,
    "num_mel_bins": 8,
    "max_source_positions": 16,
    "max_target_positions": 16,
    **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in (("layers", 2), ("ffn_dim", 48))},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **START,
}
WAVES = {
    "conv_dim": (16, 16),
    "conv_stride": (4, 4),
    "conv_kernel": (8, 8),
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "apply_spec_augment": False,  # masks are drawn by numpy, once for each call
}


def words(count=9):
    return torch.randint(4, 97, (2, count))


def images():
    return torch.randn(2, 3, 32, 32)


def clip():
    config = transformers.CLIPConfig(text_config={**TEXT, **START}, vision_config=IMAGE, projection_dim=16)
    return transformers.CLIPModel(config), {"input_ids": words(), "pixel_values": images(), "return_loss": True}


def of(name, settings, inputs):
    kind = getattr(transformers, name)
    return kind(kind.config_class(**settings)), inputs


MODELS = {
    "bert": lambda: of(
        "BertForMaskedLM",
        TEXT,
        {"input_ids": words(), "attention_mask": torch.tensor([[1] * 9, [1] * 6 + [0] * 3]), "labels": words()},
    ),
    "vit": lambda: of("ViTForImageClassification", IMAGE, {"pixel_values": images(), "labels": torch.tensor([0, 1])}),
    "t5": lambda: of(
        "T5ForConditionalGeneration",
        {"vocab_size": 97, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, **START},
        {"input_ids": words(), "labels": words(5)},
    ),
    "clip": clip,
    "whisper": lambda: of(
        "WhisperForConditionalGeneration", SPEECH, {"input_features": torch.randn(2, 8, 32), "labels": words(5)}
    ),
    "wav2vec2": lambda: of(
        "Wav2Vec2ForCTC",
        {**TEXT, **WAVES},
        {"input_values": torch.randn(2, 800), "labels": words(5)},
    ),
}


def found(model, inputs, step):
    """Return the results, the loss and the gradients; then change the weights."""
    device = next(model.parameters()).device
    there = {key: value.to(device) if torch.is_tensor(value) else value for key, value in inputs.items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    output = model(**there)
    output.loss.backward()
    gradients = {
        name: parameter.grad.cpu() for name, parameter in model.named_parameters() if parameter.grad is not None
    }
    if step:
        optimizer.step()
    tensors = {key: value.detach().cpu() for key, value in output.items() if torch.is_tensor(value)}
    return tensors, gradients


def compare(name):
    torch.manual_seed(0)
    on_cpu, inputs = MODELS[name]()
    on_cpu.eval()  # without dropout, whose numbers are the device's
    on_npu = copy.deepcopy(on_cpu).npu()
    # The kernels are those of the CPU. With one thread they add in the same order; memory with another alignment lets
    # some add in another, which changes the last digits.
    for step in (True, False):
        expected, result = (found(model, inputs, step) for model in (on_cpu, on_npu))
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-6)
    if on_cpu.can_generate():
        given = inputs[on_cpu.main_input_name]
        settings = {"max_new_tokens": 6, "do_sample": False, "num_beams": 2}
        texts = [model.generate(each, **settings).cpu() for model, each in ((on_cpu, given), (on_npu, given.npu()))]
        assert torch.equal(*texts), texts


for name in sys.argv[1:] or MODELS:
    compare(name)
print("answer:", json.dumps(sys.argv[1:] or list(MODELS)))
