"""Libraries that train on the ranks of torchrun, which they find by themselves. Prints what rank 0 has seen.

Arguments: the device, "cpu" or "npu", and the library. Files are written to the working directory.
"""

import json
import os
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)
from for_libraries import lightning_accelerator, lightning_module, model, samples
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.tensor import DTensor

ON_CPU = sys.argv[1] == "cpu"
BACKEND = "gloo" if ON_CPU else "hccl"
warnings.filterwarnings("ignore", message=".*will be deprecated", category=FutureWarning)  # FSDP1


def trainer(**sharding):
    from transformers import Trainer, TrainingArguments

    directory = Path.cwd() / f"{sys.argv[1]}_{sys.argv[2]}"
    arguments = TrainingArguments(
        str(directory),
        use_cpu=ON_CPU,
        ddp_backend=BACKEND,
        num_train_epochs=2,
        per_device_train_batch_size=2,
        logging_steps=1,
        save_steps=4,
        report_to=[],
        optim="adamw_torch",
        learning_rate=0.01,
        dataloader_pin_memory=not ON_CPU,
        disable_tqdm=True,
        max_grad_norm=0 if sharding else 1,  # the norm of all parts is rounded in another way
        **({} if ON_CPU else sharding),  # the library shards on accelerators alone
    )
    trained = Trainer(model(), arguments, train_dataset=samples(16))
    assert trained.args.device.type == sys.argv[1], trained.args.device
    trained.train()
    parts = [*trained.model_wrapped.modules(), *trained.model_wrapped.parameters()]
    is_sharded = any(isinstance(each, (FullyShardedDataParallel, DTensor)) for each in parts)
    assert is_sharded == bool(sharding and not ON_CPU)
    losses = [entry["loss"] for entry in trained.state.log_history if "loss" in entry]
    again = Trainer(model(), arguments, train_dataset=samples(16))
    again.train(resume_from_checkpoint=str(directory / "checkpoint-4"))
    assert [entry["loss"] for entry in again.state.log_history if "loss" in entry] == losses
    return losses, trained.evaluate(samples(4))["eval_loss"]


def trainer_fsdp1():
    return trainer(
        fsdp="full_shard auto_wrap",
        fsdp_config={"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "use_orig_params": True},
    )


def trainer_fsdp2():
    return trainer(
        fsdp="full_shard auto_wrap",
        fsdp_config={"version": 2, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]},
    )


def accelerate():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=ON_CPU, gradient_accumulation_steps=2)
    assert accelerator.device.type == sys.argv[1], accelerator.device
    own = model()
    loader = torch.utils.data.DataLoader(samples(16), batch_size=2)
    own, optimizer, loader = accelerator.prepare(own, torch.optim.SGD(own.parameters(), lr=0.1), loader)
    losses = []
    for batch in loader:
        with accelerator.accumulate(own):
            loss = own(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                losses.append(float(accelerator.clip_grad_norm_(own.parameters(), 1.0)))
            optimizer.step()
            optimizer.zero_grad()
        losses += accelerator.gather_for_metrics(loss).tolist()
    assert accelerator.reduce(torch.ones(1, device=accelerator.device)).item() == 2
    return losses


def lightning():
    import lightning as L
    from lightning.pytorch.strategies import DDPStrategy

    class Strategy(DDPStrategy):
        def _setup_model(self, module):  # the usual one makes a stream of torch.cuda
            return torch.nn.parallel.DistributedDataParallel(module, device_ids=self.determine_ddp_device_ids())

    size = int(os.environ["WORLD_SIZE"])
    devices = [torch.device("cpu")] * size if ON_CPU else [torch.device("npu", i) for i in range(size)]
    strategy = Strategy(
        accelerator=None if ON_CPU else lightning_accelerator(),
        parallel_devices=devices,
        process_group_backend=BACKEND,
    )
    module = lightning_module(sys.argv[1])
    fit = L.Trainer(
        max_epochs=2,
        accelerator="cpu" if ON_CPU else "auto",
        devices=size,
        strategy=strategy,
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    fit.fit(module, torch.utils.data.DataLoader(samples(16), batch_size=2, shuffle=True))
    return [loss.item() for loss in module.losses], fit.callback_metrics["loss"].item()


LIBRARIES = (trainer, trainer_fsdp1, trainer_fsdp2, accelerate, lightning)

[library] = [each for each in LIBRARIES if each.__name__ == sys.argv[2]]
answer = library()
assert dist.get_backend() == BACKEND
if dist.get_rank() == 0:
    print("answer:", json.dumps(answer), flush=True)
dist.destroy_process_group()
