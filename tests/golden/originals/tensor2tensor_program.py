"""tensor2tensor's Transformer with transformer_base_v2, for Python 3.7 and TensorFlow 1.15: a program of its own.

    python3.7 tensor2tensor_program.py FOLDER 'D HEADS LAYERS WIDTH V SEED DRAWS'

writes initial values of all variables into FOLDER/initial_0.npz and so on; and where FOLDER/filled.npz has others, with
ids source [B, S] and target [B, T], it writes the logits [B, T, V] into FOLDER/logits.npz.
"""
import abc
import importlib.abc
import importlib.machinery
import os
import sys
import types

import numpy
import tensorflow.compat.v1 as tf

OTHER_PACKAGES = {"gym", "tensorflow_probability", "tensorflow_datasets", "tensorflow_gan", "mesh_tensorflow", "cv2",
                  "tensorflow_hub", "scipy", "requests", "PIL", "matplotlib", "gin", "sympy", "dopamine", "cloudpickle"}


class AnyClass(abc.ABCMeta):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class Nothing(metaclass=AnyClass):
    """What the model does not use of other packages: environments for reinforcement learning, images."""
    def __new__(cls, *arguments, **options):
        return arguments[0] if cls is Nothing and arguments else super().__new__(cls)

    def __init__(self, *arguments, **options):
        pass

    @staticmethod
    def register(*arguments, **options):  # else ABCMeta's
        pass


class StandIn(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OTHER_PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def main(folder, sizes):
    import tensorflow.keras  # pylint: disable=unused-import  # before the stand-ins, for it uses some if they exist
    sys.meta_path.insert(0, StandIns())
    from tensor2tensor.data_generators import problem_hparams
    from tensor2tensor.models import transformer

    d_model, heads, layers, width, vocabulary, seed, draws = map(int, sizes.split())
    tf.disable_v2_behavior()
    tf.set_random_seed(seed)
    filled = os.path.join(folder, "filled.npz")
    values = dict(numpy.load(filled)) if os.path.exists(filled) else {}
    source = values.pop("source", numpy.ones((1, 2), numpy.int32))
    target = values.pop("target", numpy.ones((1, 2), numpy.int32))
    options = transformer.transformer_base_v2()
    options.hidden_size, options.num_heads, options.filter_size = d_model, heads, width
    options.num_hidden_layers = layers
    for name in ("layer_prepostprocess_dropout", "attention_dropout", "relu_dropout", "dropout"):
        options.set_hparam(name, 0.0)
    problem = problem_hparams.test_problem_hparams(vocabulary, vocabulary, options)
    options.problem_hparams = problem
    model = transformer.Transformer(options, tf.estimator.ModeKeys.EVAL, problem)
    logits, _ = model({"inputs": tf.constant(source[:, :, None, None], tf.int32),
                       "targets": tf.constant(target[:, :, None, None], tf.int32),
                       "target_space_id": tf.constant(0, tf.int32)})
    with tf.Session(config=tf.ConfigProto(
            intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)) as session:
        variables = {variable.op.name: variable for variable in tf.trainable_variables()}
        start = tf.global_variables_initializer()
        for i in range(draws):
            session.run(start)
            numpy.savez(os.path.join(folder, "initial_{}.npz".format(i)), **session.run(variables))
        for name, value in values.items():
            variables[name].load(value, session)
        if values:
            numpy.savez(os.path.join(folder, "logits.npz"), logits=session.run(logits)[:, :, 0, 0])


if __name__ == "__main__":
    main(*sys.argv[1:])
