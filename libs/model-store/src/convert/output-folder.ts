import { copyFile, mkdir, open, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { containedPath } from '../contained-path.js';
import { writeOnnxModel, type OnnxGraph } from '../onnx/index.js';
import type { ConversionRequest } from './conversion.js';

/** Output files of a conversion. Tracks what it wrote, so that a failed conversion leaves nothing. */
export class OutputFolder {
  private readonly written: string[] = [];

  constructor(private readonly request: Omit<ConversionRequest, 'options'>) {}

  get files(): string[] {
    return [...this.written];
  }

  async writeJson(name: string, value: unknown): Promise<void> {
    this.request.signal?.throwIfAborted();
    const target = containedPath(this.request.outputFolder, name);
    this.written.push(name);
    await writeFile(target, `${JSON.stringify(value)}\n`);
  }

  async writeText(name: string, text: string): Promise<void> {
    this.request.signal?.throwIfAborted();
    const target = await this.prepare(name);
    await writeFile(target, text);
  }

  /** Writes pieces one after the other. */
  async writePieces(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const { signal } = this.request;
    const file = await open(await this.prepare(name), 'w');
    try {
      for await (const piece of pieces) {
        signal?.throwIfAborted();
        await file.writeFile(piece);
      }
    } finally {
      await file.close();
    }
  }

  /** Copies an input file unchanged, such as a graph that needs no conversion. */
  async copy(name: string): Promise<void> {
    const { inputFolder, signal } = this.request;
    signal?.throwIfAborted();
    await copyFile(containedPath(inputFolder, name), await this.prepare(name));
  }

  async writeGraph(graph: OnnxGraph, fileName?: string): Promise<void> {
    const { outputFolder, onProgress, resumeKey, signal } = this.request;
    const report =
      onProgress && ((progress: { done: number; total: number }) => onProgress({ stage: 'converting', ...progress }));
    if (fileName !== undefined) await mkdir(dirname(join(outputFolder, fileName)), { recursive: true });
    const options = { folder: outputFolder, fileName, resumeKey, onProgress: report, signal };
    const files = await writeOnnxModel(graph, options);
    this.written.push(...files);
  }

  /** Returns the path of a file to write, after making its folder. */
  private async prepare(name: string): Promise<string> {
    const target = containedPath(this.request.outputFolder, name);
    await mkdir(dirname(target), { recursive: true });
    this.written.push(name);
    return target;
  }

  /** Runs a conversion and removes its files if it fails. */
  async writing(convert: () => Promise<void>): Promise<void> {
    try {
      await convert();
    } catch (error) {
      await Promise.all(this.written.map((name) => rm(join(this.request.outputFolder, name), { force: true })));
      throw error;
    }
  }
}
