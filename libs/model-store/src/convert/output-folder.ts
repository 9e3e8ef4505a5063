import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeOnnxModel, type OnnxGraph } from '../onnx/index.js';
import type { ConversionRequest } from './conversion.js';

/** The files of a converted model. Knows what it wrote, so that a conversion that fails leaves nothing. */
export class OutputFolder {
  private readonly written: string[] = [];

  constructor(private readonly request: Pick<ConversionRequest, 'outputFolder' | 'onProgress' | 'signal'>) {}

  get files(): string[] {
    return [...this.written];
  }

  async writeJson(name: string, value: unknown): Promise<void> {
    this.request.signal?.throwIfAborted();
    this.written.push(name);
    await writeFile(join(this.request.outputFolder, name), `${JSON.stringify(value)}\n`);
  }

  async writeGraph(graph: OnnxGraph): Promise<void> {
    const { outputFolder, onProgress, signal } = this.request;
    const report =
      onProgress && ((progress: { done: number; total: number }) => onProgress({ stage: 'converting', ...progress }));
    const files = await writeOnnxModel(graph, { folder: outputFolder, onProgress: report, signal });
    this.written.push(...files);
  }

  /** Runs a conversion and removes its files when it fails. */
  async writing(convert: () => Promise<void>): Promise<void> {
    try {
      await convert();
    } catch (error) {
      await Promise.all(this.written.map((name) => rm(join(this.request.outputFolder, name), { force: true })));
      throw error;
    }
  }
}
