import { createRequire } from 'node:module';

/*
 * The part of the native FFmpeg binding that this program uses. The binding mirrors the C API of FFmpeg: calls return a
 * negative error code, or a value.
 */

export interface Ratio {
  num: number;
  den: number;
}

export interface ChannelLayout {
  nbChannels: number;
  order: number;
  mask: bigint;
}

export interface Dictionary {
  alloc(): void;
  set(key: string, value: string, flags: number): number;
  get(key: string, flags: number): string | null;
}

export interface Packet {
  streamIndex: number;
  readonly pts: bigint;
  readonly duration: bigint;
  readonly isKeyframe: boolean;
  alloc(): void;
  unref(): void;
  rescaleTs(from: Ratio, to: Ratio): void;
}

export interface Frame {
  format: number;
  width: number;
  height: number;
  nbSamples: number;
  pts: bigint;
  readonly bestEffortTimestamp: bigint;
  readonly duration: bigint;
  sampleAspectRatio: Ratio;
  sampleRate: number;
  channelLayout: ChannelLayout;
  colorRange: number;
  colorSpace: number;
  alloc(): void;
  free(): void;
  unref(): void;
  clone(): Frame | null;
  /** The samples or pixels without padding. */
  toBuffer(): Buffer;
}

export interface Codec {
  readonly id: number;
  readonly supportedSamplerates: number[] | null;
}

export interface CodecParameters {
  readonly codecType: number;
  readonly codecId: number;
  readonly width: number;
  readonly height: number;
  readonly sampleRate: number;
  readonly channels: number;
  readonly colorSpace: number;
  readonly colorTrc: number;
  readonly sampleAspectRatio: Ratio;
  fromContext(context: CodecContext): number;
  getCodedSideData(type: number): Buffer | null;
}

export interface CodecContext {
  flags: number;
  timeBase: Ratio;
  pktTimebase: Ratio;
  framerate: Ratio;
  width: number;
  height: number;
  pixelFormat: number;
  sampleAspectRatio: Ratio;
  colorRange: number;
  colorPrimaries: number;
  colorTrc: number;
  colorSpace: number;
  sampleRate: number;
  sampleFormat: number;
  channelLayout: ChannelLayout;
  readonly frameSize: number;
  allocContext3(codec: Codec): void;
  parametersToContext(parameters: CodecParameters): number;
  open2Sync(codec: Codec, options: null): number;
  sendPacketSync(packet: Packet | null): number;
  receiveFrameSync(frame: Frame): number;
  sendFrameSync(frame: Frame | null): number;
  receivePacketSync(packet: Packet): number;
}

export interface Stream {
  readonly index: number;
  readonly codecpar: CodecParameters;
  timeBase: Ratio;
  readonly startTime: bigint;
  readonly duration: bigint;
  readonly nbFrames: bigint;
  readonly disposition: number;
  discard: number;
  sampleAspectRatio: Ratio;
  avgFrameRate: Ratio;
  readonly rFrameRate: Ratio;
  readonly metadata: Dictionary | null;
}

export interface IoContext {
  open2Sync(url: string, flags: number): number;
  closepSync(): number;
  tell(): bigint;
}

export interface FormatContext {
  readonly startTime: bigint;
  readonly duration: bigint;
  readonly streams: Stream[] | null;
  readonly oformat: { readonly flags: number } | null;
  flags: number;
  pb: IoContext | null;
  allocContext(): void;
  allocOutputContext2(format: null, name: string, url: string): number;
  openInputSync(url: string, format: InputFormat, options: Dictionary): number;
  findStreamInfoSync(options: null): number;
  readFrameSync(packet: Packet): number;
  seekFrameSync(streamIndex: number, timestamp: bigint, flags: number): number;
  newStream(codec: Codec): Stream;
  writeHeaderSync(options: null): number;
  interleavedWriteFrameSync(packet: Packet): number;
  writeTrailerSync(): number;
}

export type InputFormat = object;
export type Filter = object;

export interface FilterContext {
  buffersrcAddFrameSync(frame: Frame | null, flags: number): number;
  buffersinkGetFrameSync(frame: Frame): number;
  buffersinkGetTimeBase(): Ratio;
}

export interface FilterGraph {
  alloc(): void;
  free(): void;
  parsePtr(filters: string, inputs: null, outputs: null): number;
  configSync(): number;
  getFilter(name: string): FilterContext | null;
}

export interface NativeAv {
  Packet: new () => Packet;
  Frame: new () => Frame;
  Dictionary: new () => Dictionary;
  CodecContext: new () => CodecContext;
  FormatContext: new () => FormatContext;
  IOContext: new () => IoContext;
  FilterGraph: new () => FilterGraph;
  Codec: { findDecoder(id: number): Codec | null; findEncoderByName(name: string): Codec | null };
  InputFormat: { findInputFormat(name: string): InputFormat | null };
  Option: { set(target: object, name: string, value: string, flags: number): number };
  FFmpegError: { strerror(code: number): string };
  Log: { setLevel(level: number): void };
  getFFmpegInfo(): { version: string };
  avGetCodecName(id: number): string | null;
  avGetPixFmtName(format: number): string | null;
  avGetSampleFmtName(format: number): string | null;
  avGetSampleFmtFromName(name: string): number;
  avGetPixFmtFromName(name: string): number;
  avChannelLayoutDescribe(layout: ChannelLayout): string | null;
}

/** Values of FFmpeg's headers, which never change. */
export const constants = {
  video: 0,
  audio: 1,
  endOfFile: -541_478_725,
  attachedImage: 0x400,
  displayMatrix: 5,
  discardAll: 48,
  globalHeader: 1 << 22,
  formatWantsGlobalHeader: 0x40,
  flushPackets: 0x200,
  seekBackward: 1,
  write: 2,
  noTime: -9_223_372_036_854_775_808n,
  microseconds: { num: 1, den: 1_000_000 },
  logErrors: 16,
  searchChildren: 1,
} as const;

/** FFmpeg's "try again", which is the error number of the system. */
export const tryAgain = process.platform === 'darwin' ? -35 : -11;

/** Name of the package with the binding for this machine. */
export function nativePackage(): string {
  const suffix = process.platform === 'win32' ? '-msvc' : '';
  return `@seydx/node-av-${process.platform}-${process.arch}${suffix}`;
}

/** Loads the binding; throws where the package is missing or does not fit the machine. */
export function loadNativeAv(): NativeAv {
  const av = createRequire(import.meta.url)(`${nativePackage()}/node-av.node`) as NativeAv;
  av.Log.setLevel(constants.logErrors);
  return av;
}

/** A call that FFmpeg refused. */
export class AvError extends Error {
  override readonly name = 'AvError';
}

/** Returns the result of a call, or throws `AvError` with what FFmpeg says. */
export function checked(av: NativeAv, code: number, step: string): number {
  if (code >= 0) return code;
  throw new AvError(`${step}: ${av.FFmpegError.strerror(code)}`);
}

export function dictionaryOf(av: NativeAv, entries: Readonly<Record<string, string>>): Dictionary {
  const dictionary = new av.Dictionary();
  dictionary.alloc();
  for (const [key, value] of Object.entries(entries)) dictionary.set(key, value, 0);
  return dictionary;
}

/** Sets options of an encoder, decoder or muxer. A dictionary given to their start would be freed twice. */
export function setOptions(av: NativeAv, target: object, options: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(options)) {
    checked(av, av.Option.set(target, name, value, constants.searchChildren), `setting ${name}`);
  }
}

export function secondsOf(time: bigint, { num, den }: Ratio): number | null {
  return time === constants.noTime ? null : (Number(time) * num) / den;
}
