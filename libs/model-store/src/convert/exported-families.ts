/** A kind of model whose ONNX export can be added, and whose weights in other formats cannot. */
const exportedFamilies: readonly { architectures: RegExp; what: string; graph?: string }[] = [
  { architectures: /^Whisper/, what: 'Whisper models' },
  {
    architectures: /^LlavaForConditionalGeneration$/,
    what: 'this model that reads images',
  },
  { architectures: /^Musicgen/, what: 'MusicGen models' },
  { architectures: /^Parakeet\w*TDT$/, what: 'Parakeet TDT models', graph: 'encoder-model.onnx' },
];

/** Says how a model of the architecture can be added all the same; null if no family runs it. */
export function addedAsExport(architecture: string): string | null {
  const found = exportedFamilies.find(({ architectures }) => architectures.test(architecture));
  if (found === undefined) return null;
  const { what, graph = 'onnx/decoder_model_merged.onnx' } = found;
  return `exports of ${what} can be added: repositories with ${graph}`;
}
