import { writeSync } from 'node:fs';
import { demuxers } from '../tools/containers.js';
import {
  type DecodeAudioTask,
  type EncodeAudioTask,
  type EncodedAudioFormat,
  type FindKeyFramesTask,
  type ListPacketsTask,
  type MediaTask,
  type TaskFile,
  readingFilters,
  type ReadFramesTask,
  type ReadKeyFrameTask,
} from '../tools/media-task.js';
import { AudioTrack, formatFilter, resampled } from './audio-track.js';
import { AvInput } from './av-input.js';
import { type EncoderChoice, AvOutput } from './av-output.js';
import { uprightFilters } from './display-matrix.js';
import { FilterChain } from './filter-chain.js';
import { AvError, constants, type Frame, type NativeAv, type Stream } from './native-av.js';
import { probeReport } from './probe-report.js';
import { writeVideo } from './write-video.js';

const standardOutput = 1;

interface EncodedForm {
  encoder: EncoderChoice;
  muxer: string;
  muxerOptions: Record<string, string>;
  sampleFormat: string;
  /** Null: that of the source. */
  sampleRate: number | null;
}

const encodedForms: Record<EncodedAudioFormat, EncodedForm> = {
  mp3: {
    encoder: { name: 'libmp3lame', options: { b: '128k' } },
    muxer: 'mp3',
    // Without the header that would need a correction at the end, which a pipe does not allow.
    muxerOptions: { write_xing: '0', id3v2_version: '0' },
    sampleFormat: 'fltp',
    sampleRate: null,
  },
  opus: {
    encoder: { name: 'libopus', options: { b: '64k' } },
    muxer: 'ogg',
    muxerOptions: { page_duration: '20000' },
    sampleFormat: 'flt',
    sampleRate: 48_000,
  },
  aac: {
    encoder: { name: 'aac', options: { b: '128k' } },
    muxer: 'adts',
    muxerOptions: {},
    sampleFormat: 'fltp',
    sampleRate: null,
  },
  flac: {
    encoder: { name: 'flac', options: {} },
    muxer: 'flac',
    muxerOptions: {},
    sampleFormat: 's16',
    sampleRate: null,
  },
};

/** Carries out one task: reads standard input or a file, writes standard output or a file. Throws if it cannot. */
export function runTask(av: NativeAv, task: MediaTask): void {
  switch (task.kind) {
    case 'probe':
      return writeAll(Buffer.from(JSON.stringify(probeReport(av, openFile(av, task)))));
    case 'decode-audio':
      return decodeAudio(av, task);
    case 'encode-audio':
      return encodeAudio(av, task);
    case 'read-frames':
      return readFrames(av, task);
    case 'find-key-frames':
      return writeAll(Buffer.from(JSON.stringify(findKeyFrames(av, task))));
    case 'list-packets':
      return listPackets(av, task);
    case 'read-key-frame':
      return readKeyFrame(av, task);
    case 'write-video':
      return writeVideo(av, task, (file) => openFile(av, file));
  }
}

function openFile(av: NativeAv, { container, path, skipBytes = 0 }: TaskFile): AvInput {
  // As for ffmpeg: no other protocol, no other file.
  const options = { protocol_whitelist: 'file', skip_initial_bytes: String(skipBytes) };
  return new AvInput(av, { format: demuxers[container], url: `file:${path}`, options });
}

function decodeAudio(av: NativeAv, task: DecodeAudioTask): void {
  const input = openFile(av, task);
  const stream = wanted(input.audioStream());
  const { sampleRate, channels, maxSeconds } = task;
  const layout = channels === 1 ? 'mono' : 'stereo';
  const form = `aformat=sample_fmts=flt:sample_rates=${sampleRate}:channel_layouts=${layout}`;
  let left = Math.ceil(maxSeconds * sampleRate);
  for (const frame of resampled(av, { frames: input.frames(stream), timeBase: stream.timeBase }, [form])) {
    const samples = Math.min(left, frame.nbSamples);
    writeAll(frame.toBuffer().subarray(0, samples * channels * 4));
    left -= samples;
    if (left === 0) return;
  }
}

function readFrames(av: NativeAv, task: ReadFramesTask): void {
  const input = openFile(av, task);
  const stream = wanted(input.videoStream());
  const upright = uprightFilters(stream.codecpar.getCodedSideData(constants.displayMatrix));
  // Players show the first frame from the start of the file, so it also fills the time before it.
  const filters = readingFilters(task).map((filter) => (filter.startsWith('fps=') ? `${filter}:start_time=0` : filter));
  const chain = new LateChain((frame) => {
    return FilterChain.forVideo(av, frame, stream.timeBase, [
      ...upright,
      ...filters,
      `trim=duration=${task.maxSeconds}`,
    ]);
  });
  for (const frame of input.frames(stream)) for (const image of chain.push(frame)) writeAll(image.toBuffer());
  for (const image of chain.end()) writeAll(image.toBuffer());
}

/** In the form of ffprobe. */
function findKeyFrames(av: NativeAv, task: FindKeyFramesTask): { packets: { pts_time?: string; flags: string }[] } {
  const input = openFile(av, task);
  const stream = wanted(input.videoStream());
  const packets = task.seconds.flatMap((seconds) => {
    input.seek(seconds);
    const found = input.nextPacket(stream);
    if (found === null) return [];
    const time = found.seconds === null ? {} : { pts_time: String(found.seconds) };
    return [{ ...time, flags: found.isKey ? 'K_' : '__' }];
  });
  return { packets };
}

/** Packets whose lines are written at once. */
const packetsPerWrite = 1_024;

/** In the form of ffprobe. */
function listPackets(av: NativeAv, task: ListPacketsTask): void {
  const input = openFile(av, task);
  const lines: string[] = [];
  for (const { seconds, duration } of input.packetTimes(wanted(input.videoStream()))) {
    lines.push(`${seconds ?? 'N/A'},${duration ?? 'N/A'}\n`);
    if (lines.length === packetsPerWrite) writeAll(Buffer.from(lines.splice(0).join('')));
  }
  writeAll(Buffer.from(lines.join('')));
}

function readKeyFrame(av: NativeAv, task: ReadKeyFrameTask): void {
  const input = openFile(av, task);
  const stream = wanted(input.videoStream());
  const upright = uprightFilters(stream.codecpar.getCodedSideData(constants.displayMatrix));
  const start = input.startTime === constants.noTime ? 0 : Number(input.startTime) / 1_000_000;
  input.seek(start + task.seconds);
  const chain = new LateChain((frame) => {
    return FilterChain.forVideo(av, frame, stream.timeBase, [...upright, ...readingFilters(task)]);
  });
  for (const frame of input.frames(stream, 'next-key-frame')) {
    for (const image of chain.push(frame)) writeAll(image.toBuffer());
  }
  for (const image of chain.end()) writeAll(image.toBuffer());
}

/** A chain of filters that is made for the first frame. */
class LateChain {
  private chain: FilterChain | null = null;

  constructor(private readonly make: (frame: Frame) => FilterChain) {}

  push(frame: Frame): Iterable<Frame> {
    this.chain ??= this.make(frame);
    return this.chain.push(frame);
  }

  end(): Iterable<Frame> {
    return this.chain?.push(null) ?? [];
  }
}

function encodeAudio(av: NativeAv, { format, sampleRate, channels }: EncodeAudioTask): void {
  const layout = channels === 1 ? 'mono' : 'stereo';
  const options = { sample_rate: String(sampleRate), ch_layout: layout };
  const input = new AvInput(av, { format: 'f32le', url: 'pipe:0', options, isRaw: true });
  const stream = wanted(input.audioStream());
  const { muxer, muxerOptions, encoder, sampleFormat, sampleRate: fixedRate } = encodedForms[format];
  const filter = formatFilter(av, { encoder: encoder.name, sampleFormat, layouts: [layout], sampleRate: fixedRate });
  const output = new AvOutput(av, { format: muxer, url: 'pipe:1' });
  const source = { frames: input.frames(stream), timeBase: stream.timeBase };
  let track: AudioTrack | null = null;
  for (const frame of resampled(av, source, [filter])) {
    if (track === null) {
      track = new AudioTrack(av, output, encoder, frame);
      output.start(muxerOptions);
    }
    track.write(frame);
    track.encode();
  }
  // As ffmpeg: nothing becomes nothing.
  if (track === null) return;
  track.finish();
  output.finish();
}

function wanted(stream: Stream | undefined): Stream {
  if (stream === undefined) throw new AvError('the input has no such track');
  return stream;
}

/** Waits for a slow reader, so that the decoder does not get ahead of it. */
function writeAll(bytes: Buffer): void {
  for (let offset = 0; offset < bytes.length;) {
    try {
      offset += writeSync(standardOutput, bytes, offset);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(neverChanged, 0, 0, 1);
    }
  }
}

/** What a thread can sleep on. */
const neverChanged = new Int32Array(new SharedArrayBuffer(4));
