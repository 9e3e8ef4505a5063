/** What a conversion works on at the moment. */
export type ConversionStage = 'converting';

/** Progress of one conversion: `done` of `total` in bytes of the converted weights. */
export interface ConversionProgress {
  stage: ConversionStage;
  done: number;
  total: number;
}

export type ConversionOptions = Record<string, string | number | boolean>;

/** What every converter is given. */
export interface ConversionRequest {
  /** The manifest's `converter.options`; each converter lists its own. */
  options: ConversionOptions;
  /** Folder with the downloaded (and concatenated) files, named by the manifest's `as`. Only read. */
  inputFolder: string;
  /** Existing folder that receives the model's files. A conversion that fails removes what it wrote. */
  outputFolder: string;
  onProgress?: (progress: ConversionProgress) => void;
  /** Ends the conversion between two pieces of work; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface ConversionResult {
  /** For `installed.json`: the converter and the options that decide its output, e.g. `gguf/1 blockSize=32`. */
  converter: string;
  /** Files written, relative to `outputFolder`. */
  files: string[];
}
