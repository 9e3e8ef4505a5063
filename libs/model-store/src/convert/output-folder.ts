import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
    this.written.push(name);
    await writeFile(join(this.request.outputFolder, name), `${JSON.stringify(value)}\n`);
  }

  /** Copies an input file unchanged, such as a graph that needs no conversion. */
  async copy(name: string): Promise<void> {
    const { inputFolder, outputFolder, signal } = this.request;
    signal?.throwIfAborted();
    const target = join(outputFolder, name);
    await mkdir(dirname(target), { recursive: true });
    this.written.push(name);
    await copyFile(join(inputFolder, name), target);
  }

  async writeGraph(graph: OnnxGraph, fileName?: string): Promise<void> {
    const { outputFolder, onProgress, signal } = this.request;
    const report =
      onProgress && ((progress: { done: number; total: number }) => onProgress({ stage: 'converting', ...progress }));
    const files = await writeOnnxModel(graph, { folder: outputFolder, fileName, onProgress: report, signal });
    this.written.push(...files);
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
