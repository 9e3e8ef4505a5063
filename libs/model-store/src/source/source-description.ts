import type { ManifestSource } from '#model-registry/manifest';
import type { AdapterDescription } from './adapter-description.js';
import type { ExportedModel } from './exported-model.js';
import type { GgufDescription } from './gguf-description.js';
import type { GgufEncoderDescription } from './gguf-encoder-description.js';
import type { SafetensorsDescription } from './safetensors-description.js';
import type { GraphKind } from './hub-files.js';
import type { EncoderSentence } from './pooling-model.js';

/** Content of a repository, package, folder or file, for the manifest of a new model. */
export type SourceDescription =
  | GraphDescription
  | ExportSourceDescription
  | GgufSourceDescription
  | GgufEncoderSource
  | CheckpointDescription
  | AdapterDescription;

interface AnyDescription {
  /** Pinned: an exact commit or SRI, with sizes and sha256 if the source states them. */
  source: ManifestSource;
  /** Last part of its name: `Some-Model` for `owner/Some-Model`. */
  name: string;
}

export interface GgufSourceDescription extends AnyDescription {
  format: 'gguf';
  gguf: GgufDescription;
  /** The part that sees is used, from a source of its own or from that of the model. */
  projector?: { source?: ManifestSource };
  /** Why a projector beside it is not used; absent: there is none. */
  ignored?: string;
  /** Other GGUF models of the source, of which this one was chosen; absent: none. */
  others?: string[];
}

export interface GgufEncoderSource extends AnyDescription {
  format: 'gguf-encoder';
  /** Other GGUF models of the source, as of a decoder. */
  others?: string[];
  encoder: GgufEncoderDescription;
}

/** A decoder as safetensors with a `config.json`. */
export interface CheckpointDescription extends AnyDescription {
  format: 'safetensors';
  checkpoint: SafetensorsDescription;
}

/** A model of several graphs in the transformers.js layout. */
export interface ExportSourceDescription extends AnyDescription {
  format: 'export';
  exported: ExportedModel;
  license: string | null;
}

/** A model in the transformers.js layout. */
export interface GraphDescription extends AnyDescription {
  format: 'onnx';
  /** Kind of text model, by its `config.json`. */
  kind: GraphKind;
  /** Graph file, in the transformers.js layout. */
  graphFile: string;
  /** Content of `config.json`. */
  config: Record<string, unknown>;
  /** True for safetensors that become the graph. */
  converts?: boolean;
  /** What its authors put in front of texts, by kind of text; empty without such a file. */
  prompts?: Record<string, unknown>;
  /** The vectors of an encoder. */
  sentence?: EncoderSentence;
  /** Content of `generation_config.json`, the authors' sampling; empty without one. */
  generation: Record<string, unknown>;
  license: string | null;
}
