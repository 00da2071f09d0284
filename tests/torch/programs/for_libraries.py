"""Small things for libraries that train: a model, its data, and what Lightning wants to be described."""

import torch

WORDS = 97


def model():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=WORDS)
    )


def samples(count):
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(3, WORDS, (count, 9), generator=generator)
    return [{"input_ids": each, "labels": each} for each in tokens]


def lightning_accelerator():
    """Return the device as programs describe one that the library does not know."""
    from lightning.pytorch.accelerators import Accelerator

    class NPU(Accelerator):
        def setup_device(self, device):
            torch.npu.set_device(device)

        def teardown(self):
            torch.npu.empty_cache()

        @staticmethod
        def parse_devices(devices):
            return [torch.device("npu", i) for i in range(devices)]

        @staticmethod
        def get_parallel_devices(devices):
            return devices

        @staticmethod
        def auto_device_count():
            return torch.npu.device_count()

        @staticmethod
        def is_available():
            return torch.npu.is_available()

        @staticmethod
        def name():
            return "npu"

    return NPU()


def lightning_module(device_type):
    """Return the model for Lightning; its losses are kept, and are on devices of that type."""
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model()
            self.losses = []

        def training_step(self, batch, _):
            loss = self.model(**batch).loss
            assert loss.device.type == device_type, loss.device
            self.log("loss", loss, sync_dist=True)
            self.losses.append(loss.detach())
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Module()
