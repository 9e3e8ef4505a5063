import { type TaskFile, type WriteVideoTask, writingFilters } from '../tools/media-task.js';
import { AudioTrack, formatFilter, resampled } from './audio-track.js';
import { AvInput } from './av-input.js';
import { type AvEncoder, AvOutput } from './av-output.js';
import { FilterChain } from './filter-chain.js';
import { AvError, type Frame, type NativeAv } from './native-av.js';

const audioEncoder = { name: 'aac', options: { b: '160k' } };
/** What the encoder takes, besides arrangements of channels that few players know. */
const audioLayouts = ['mono', 'stereo', '3.0', '4.0', '5.0', '5.1'];

/**
 * Writes the frames of standard input, and the audio of a file, as an mp4. The video ends with its frames: longer audio
 * is cut, shorter audio is padded with silence.
 */
export function writeVideo(av: NativeAv, task: WriteVideoTask, openFile: (file: TaskFile) => AvInput): void {
  const fps = { num: task.fps.numerator, den: task.fps.denominator };
  const input = new AvInput(av, {
    format: 'rawvideo',
    url: 'pipe:0',
    options: {
      pixel_format: 'rgb24',
      video_size: `${task.width}x${task.height}`,
      framerate: `${fps.num}/${fps.den}`,
    },
    isRaw: true,
  });
  const stream = input.videoStream();
  if (stream === undefined) throw new AvError('the frames cannot be read');
  const writer = new VideoWriter(av, task, task.audio === null ? null : openFile(task.audio));
  for (const frame of input.frames(stream)) {
    if (!writer.write(frame)) break;
  }
  writer.finish();
}

class VideoWriter {
  private readonly output: AvOutput;
  private readonly sound: Generator<Frame, void, undefined> | null;
  private chain: FilterChain | null = null;
  private video: AvEncoder | null = null;
  private audio: AudioTrack | null = null;
  private frames = 0;

  constructor(
    private readonly av: NativeAv,
    private readonly task: WriteVideoTask,
    audio: AvInput | null,
  ) {
    this.output = new AvOutput(av, { format: 'mp4', url: `file:${task.path}` });
    this.sound = audio === null ? null : this.samplesOf(audio);
  }

  private get seconds(): number {
    const { numerator, denominator } = this.task.fps;
    return (this.frames * denominator) / numerator;
  }

  /** False when the file has its maximum size. */
  write(frame: Frame): boolean {
    const timeBase = { num: this.task.fps.denominator, den: this.task.fps.numerator };
    this.chain ??= FilterChain.forVideo(this.av, frame, timeBase, writingFilters(this.task));
    for (const image of this.chain.push(frame)) this.encode(image);
    return this.output.bytes < this.task.maxBytes;
  }

  finish(): void {
    if (this.chain === null) throw new AvError('there are no frames');
    for (const image of this.chain.push(null)) this.encode(image);
    this.video?.encode(null);
    this.audio?.finish(this.seconds);
    this.output.finish();
  }

  private encode(image: Frame): void {
    this.video ??= this.start(image);
    image.pts = BigInt(this.frames);
    this.video.encode(image);
    this.frames += 1;
    while (this.audio !== null && this.audio.endSeconds < this.seconds) {
      const next = this.sound?.next();
      if (next === undefined || next.done === true) break;
      this.audio.write(next.value);
    }
    this.audio?.encode(this.seconds);
  }

  private start(image: Frame): AvEncoder {
    const { fps, crf } = this.task;
    const options = { preset: 'veryfast', crf: String(crf), threads: 'auto' };
    const video = this.output.addVideo({ name: 'libx264', options }, image, {
      num: fps.numerator,
      den: fps.denominator,
    });
    const first = this.sound?.next();
    if (first !== undefined && first.done !== true) {
      this.audio = new AudioTrack(this.av, this.output, audioEncoder, first.value);
    }
    this.output.start({ movflags: '+faststart' });
    if (first !== undefined && first.done !== true) this.audio?.write(first.value);
    return video;
  }

  /** Yields the samples of a file and then silence, without end. */
  private samplesOf(audio: AvInput): Generator<Frame, void, undefined> | null {
    const stream = audio.audioStream();
    if (stream === undefined) return null;
    const { name: encoder } = audioEncoder;
    const form = formatFilter(this.av, { encoder, sampleFormat: 'fltp', layouts: audioLayouts, sampleRate: null });
    return resampled(this.av, { frames: audio.frames(stream), timeBase: stream.timeBase }, ['apad', form]);
  }
}
