import { join } from 'node:path';
import type { HostLoadOptions, TaskRunner } from '#inference/host';
import { MediaTools } from '#media';
import { ImageProcessor } from '#modalities/image/worker';
import { VideoProcessor } from '#modalities/video/worker';
import type { ModelManifest } from '#model-registry/manifest';
import type { JobReport, RunningJob } from '#queue';
import { createArtifactStore } from '#storage';
import { serveBench } from '../bare-child.js';
import { BareTasks } from '../bare-tasks.js';

export interface WorkerLoad {
  manifest: ModelManifest;
  host: HostLoadOptions;
  /** Folder for artifacts and temporary files. */
  home: string;
}

/** One worker job; the images become its inputs. */
export interface WorkerJob {
  modality: 'image' | 'video';
  payload: object;
  /** PNG. */
  images: Uint8Array[];
}

type Process = (job: RunningJob<never>) => Promise<JobReport>;

/** The worker's part of a job: storage, decoding, in-process engine, encoding. No HTTP, billing or queue. */
class BareWorker {
  private constructor(
    private readonly artifacts: ReturnType<typeof createArtifactStore>,
    private readonly processors: Record<WorkerJob['modality'], Process>,
  ) {}

  static async open({ manifest, host, home }: WorkerLoad): Promise<BareWorker> {
    const tasks = new BareTasks();
    await tasks.load(host);
    const runner: TaskRunner = {
      runTask: async ({ task, input }) => ({ cancelled: false, output: await tasks.perform(task, input) }),
    };
    const artifacts = createArtifactStore({ home });
    const media = await MediaTools.find({ temporaryFolder: join(home, 'media') });
    const image = new ImageProcessor({ runner, manifest, artifacts, helper: () => null });
    const video = new VideoProcessor({ runner, artifacts, media });
    return new BareWorker(artifacts, { image: (job) => image.process(job), video: (job) => video.process(job) });
  }

  /** The images are stored before timing starts, because the API does this. */
  async run({ modality, payload, images }: WorkerJob): Promise<{ ms: number }> {
    const options = { kind: 'input', contentType: 'image/png' } as const;
    const stored = await Promise.all(images.map((image) => this.artifacts.put(image, options)));
    const inputs = stored.map(({ id }) => id);
    const job = {
      envelope: { requestId: 'bare', modality, payload: { ...payload, inputs } },
      signal: new AbortController().signal,
      replies: { send: () => undefined },
      progress: () => undefined,
    };
    const startedAt = performance.now();
    await this.processors[modality](job as unknown as RunningJob<never>);
    return { ms: performance.now() - startedAt };
  }
}

let worker: BareWorker | null = null;
serveBench(
  async (options: WorkerLoad) => void (worker = await BareWorker.open(options)),
  async (job: WorkerJob) => await worker?.run(job),
);
