"""Libraries that train models: they find the device by themselves, and train as on the CPU.

Arguments: the libraries to use; all of LIBRARIES without one.
"""

import json
import os
import sys
import tempfile

import torch
import torch_npu  # noqa: F401  (registers the device)
from for_libraries import lightning_accelerator, lightning_module, model, samples


def batches(size=2):
    return torch.utils.data.DataLoader(samples(8), batch_size=size)


def trainer(on_cpu):
    from transformers import Trainer, TrainingArguments

    with tempfile.TemporaryDirectory() as directory:
        arguments = TrainingArguments(
            directory,
            use_cpu=on_cpu,
            max_steps=4,
            per_device_train_batch_size=2,
            logging_steps=1,
            save_steps=2,
            report_to=[],
            optim="sgd",
            learning_rate=0.1,
            dataloader_pin_memory=not on_cpu,
            disable_tqdm=True,
        )
        trained = Trainer(model(), arguments, train_dataset=samples(8))
        assert trained.args.device.type == ("cpu" if on_cpu else "npu"), trained.args.device
        trained.train()
        losses = [entry["loss"] for entry in trained.state.log_history if "loss" in entry]
        # From the checkpoint in the middle it ends where it has ended.
        again = Trainer(model(), arguments, train_dataset=samples(8))
        again.train(resume_from_checkpoint=os.path.join(directory, "checkpoint-2"))
        assert [entry["loss"] for entry in again.state.log_history if "loss" in entry] == losses
        return losses, trained.evaluate(samples(4))["eval_loss"]


def accelerate(on_cpu):
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, PartialState

    AcceleratorState._reset_state(reset_partial_state=True)
    PartialState._reset_state()
    accelerator = Accelerator(cpu=on_cpu, gradient_accumulation_steps=2)
    assert accelerator.device.type == ("cpu" if on_cpu else "npu"), accelerator.device
    own = model()
    own, optimizer, loader = accelerator.prepare(own, torch.optim.SGD(own.parameters(), lr=0.1), batches())
    losses = []
    for batch in loader:
        with accelerator.accumulate(own):
            loss = own(**batch).loss
            accelerator.backward(loss)
            norm = accelerator.clip_grad_norm_(own.parameters(), 1.0) if accelerator.sync_gradients else 0.0
            optimizer.step()
            optimizer.zero_grad()
        losses += [accelerator.gather(loss).item(), float(norm)]
    return losses


def peft(on_cpu):
    from peft import LoraConfig, PeftModel, get_peft_model

    device = "cpu" if on_cpu else "npu"
    torch.manual_seed(1)
    own = get_peft_model(model(), LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    own.to(device)
    trained = [parameter for parameter in own.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.5)
    losses = []
    for batch in batches():
        loss = own(**{key: value.to(device) for key, value in batch.items()}).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    given = samples(1)[0]["input_ids"][None].to(device)
    with tempfile.TemporaryDirectory() as directory, torch.no_grad():
        adapted = own.eval()(given).logits
        own.save_pretrained(directory)
        loaded = PeftModel.from_pretrained(model(), directory).to(device).eval()
        assert torch.equal(loaded(given).logits, adapted)
        merged = loaded.merge_and_unload()(given).logits
    return losses, adapted.cpu(), merged.cpu()


def lightning(on_cpu):
    import lightning as L

    module = lightning_module("cpu" if on_cpu else "npu")
    device = torch.device("npu", 0)
    strategy = "auto" if on_cpu else L.pytorch.strategies.SingleDeviceStrategy(device, lightning_accelerator())
    settings = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    fit = L.Trainer(
        max_epochs=2,
        strategy=strategy,
        enable_model_summary=False,
        gradient_clip_val=1.0,
        **({"accelerator": "cpu"} if on_cpu else {}),
        **settings,
    )
    fit.fit(module, batches())
    return [loss.item() for loss in module.losses]


def diffusers(on_cpu):
    from diffusers import DDPMScheduler, UNet2DModel

    device = "cpu" if on_cpu else "npu"
    torch.manual_seed(0)
    net = UNet2DModel(
        sample_size=16,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ).to(device)
    scheduler = DDPMScheduler(num_train_timesteps=20)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(1)  # the CPU's, for the same pictures everywhere
    losses = []
    for _ in range(3):
        images, noise = (torch.randn(2, 3, 16, 16, generator=generator) for _ in range(2))
        times = torch.randint(20, (2,), generator=generator)
        images, noise, times = images.to(device), noise.to(device), times.to(device)
        loss = torch.nn.functional.mse_loss(net(scheduler.add_noise(images, noise, times), times).sample, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    scheduler.set_timesteps(5)
    image = torch.randn(2, 3, 16, 16, generator=generator).to(device)
    with torch.no_grad():
        for time in scheduler.timesteps:
            image = scheduler.step(net(image, time).sample, time, image, generator=generator).prev_sample
    return losses, image.cpu()


LIBRARIES = (trainer, accelerate, peft, lightning, diffusers)

names = sys.argv[1:] or [each.__name__ for each in LIBRARIES]
for library in LIBRARIES:
    if library.__name__ in names:
        expected, found = (library(on_cpu) for on_cpu in (True, False))
        # The kernels are the CPU's; where memory is aligned in another way, some add in another order.
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
print("answer:", json.dumps(names))
