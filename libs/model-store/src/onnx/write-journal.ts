import { createHash } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import type { OnnxGraph } from './onnx-types.js';

/** Behind the name of the data file. */
export const journalSuffix = '.resume';

/** How far a data file is written: its first `tensors` initializers, until byte `end`. */
export interface WrittenPart {
  tensors: number;
  end: number;
}

/** Beside a data file: how much of it an interrupted run has written, and for what. */
export class WriteJournal {
  private readonly path: string;
  private readonly key: string;

  /** `key` names everything that the content of the tensors follows from. */
  constructor(
    private readonly dataPath: string,
    graph: OnnxGraph,
    key: string,
  ) {
    this.path = `${dataPath}${journalSuffix}`;
    const tensors = graph.initializers.map(({ name, type, dimensions }) => [name, type, dimensions]);
    this.key = createHash('sha256')
      .update(JSON.stringify([key, tensors]))
      .digest('hex');
  }

  /** Returns what an earlier run of the same conversion has written; null if there is nothing to continue. */
  async read(): Promise<WrittenPart | null> {
    try {
      const { key, tensors, end } = JSON.parse(await readFile(this.path, 'utf8')) as WrittenPart & { key: string };
      const { size } = await stat(this.dataPath);
      return key === this.key && size >= end ? { tensors, end } : null;
    } catch {
      return null;
    }
  }

  /** The data until there must be on disk before. */
  async write({ tensors, end }: WrittenPart): Promise<void> {
    await writeFile(`${this.path}.new`, JSON.stringify({ key: this.key, tensors, end }));
    await rename(`${this.path}.new`, this.path);
  }

  async remove(): Promise<void> {
    await Promise.all([this.path, `${this.path}.new`].map((path) => rm(path, { force: true })));
  }
}
