/** Current activity of a conversion. */
export type ConversionStage = 'converting';

/** Progress of one conversion: `done` of `total` in bytes of the converted weights. */
export interface ConversionProgress {
  stage: ConversionStage;
  done: number;
  total: number;
}

export type ConversionOptions = Record<string, string | number | boolean>;

/** Input of every converter. */
export interface ConversionRequest {
  /** `converter.options` of the manifest; each converter documents its own. */
  options: ConversionOptions;
  /** Folder with the downloaded (and concatenated) files, named by the manifest's `as`. Read-only. */
  inputFolder: string;
  /** Existing folder for the model's files. A failed conversion removes what it wrote. */
  outputFolder: string;
  /** Folder of the installed base of an adapter. */
  baseFolder?: string;
  onProgress?: (progress: ConversionProgress) => void;
  /**
   * Names what the files follow from. With it, a large data file of a run that was killed or aborted stays in
   * `outputFolder`, and the next run with the same key continues it.
   */
  resumeKey?: string;
  /** Ends the conversion between two steps; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface ConversionResult {
  /** For `installed.json`: the converter and the options that affect its output, e.g. `gguf/6 int4 blockSize=32`. */
  converter: string;
  /** Files written, relative to `outputFolder`. */
  files: string[];
}
