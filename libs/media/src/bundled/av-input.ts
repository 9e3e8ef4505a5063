import {
  AvError,
  checked,
  type CodecContext,
  constants,
  dictionaryOf,
  type FormatContext,
  type Frame,
  type NativeAv,
  type Packet,
  secondsOf,
  setOptions,
  type Stream,
  tryAgain,
} from './native-av.js';

export interface AvInputOptions {
  /** Name of the only demuxer that may read it. */
  format: string;
  url: string;
  options: Readonly<Record<string, string>>;
  /** True for samples and pixels without a header: nothing is read in advance. */
  isRaw?: boolean;
}

/** Share of packets that may be damaged, as in ffmpeg. */
const maxDamage = 2 / 3;

/** A file or pipe that is demuxed and decoded. */
export class AvInput {
  private readonly context: FormatContext;

  constructor(
    private readonly av: NativeAv,
    { format, url, options, isRaw = false }: AvInputOptions,
  ) {
    const demuxer = av.InputFormat.findInputFormat(format);
    if (demuxer === null) throw new AvError(`there is no demuxer ${format}`);
    this.context = new av.FormatContext();
    this.context.allocContext();
    checked(av, this.context.openInputSync(url, demuxer, dictionaryOf(av, options)), 'opening the input');
    if (!isRaw) checked(av, this.context.findStreamInfoSync(null), 'reading the header');
  }

  get streams(): Stream[] {
    return this.context.streams ?? [];
  }

  /** Start of the earliest stream, in microseconds; `noTime` if unknown. */
  get startTime(): bigint {
    return this.context.startTime;
  }

  /** In microseconds; `noTime` if unknown. */
  get duration(): bigint {
    return this.context.duration;
  }

  audioStream(): Stream | undefined {
    return this.streams.find(({ codecpar }) => codecpar.codecType === constants.audio);
  }

  /** The first video that is not a cover image. */
  videoStream(): Stream | undefined {
    return this.streams.find(
      ({ codecpar, disposition }) =>
        codecpar.codecType === constants.video && (disposition & constants.attachedImage) === 0,
    );
  }

  /** Goes to the last key frame at or before a time of the file's own clock. */
  seek(seconds: number): void {
    const time = BigInt(Math.round(seconds * 1_000_000));
    checked(this.av, this.context.seekFrameSync(-1, time, constants.seekBackward), 'seeking');
  }

  /** Reads one packet of a stream and returns its time on the file's own clock; null at the end or without a time. */
  nextPacket(stream: Stream): { seconds: number | null; isKey: boolean } | null {
    this.discardOthers(stream);
    const packet = new this.av.Packet();
    packet.alloc();
    for (const part of this.packets(packet, stream.index)) {
      return part && { seconds: secondsOf(part.pts, stream.timeBase), isKey: part.isKeyframe };
    }
    return null;
  }

  /** Yields time on the file's own clock and duration of each packet of a stream, in seconds; null where unknown. */
  *packetTimes(stream: Stream): Generator<{ seconds: number | null; duration: number | null }, void, undefined> {
    this.discardOthers(stream);
    const packet = new this.av.Packet();
    packet.alloc();
    for (const part of this.packets(packet, stream.index)) {
      if (part === null) return;
      yield { seconds: secondsOf(part.pts, stream.timeBase), duration: secondsOf(part.duration, stream.timeBase) };
    }
  }

  /**
   * Yields the decoded frames of one stream, timed from the start of the file; or only the next key
   * frame. The frame is valid until the next one is requested.
   */
  *frames(stream: Stream, reading: 'all' | 'next-key-frame' = 'all'): Generator<Frame, void, undefined> {
    this.discardOthers(stream);
    const decoder = this.openDecoder(stream);
    const packet = new this.av.Packet();
    packet.alloc();
    const frame = new this.av.Frame();
    frame.alloc();
    const clock = new FrameClock(this.offsetOf(stream));
    const seen = { frames: 0, damaged: 0 };
    for (const part of this.packets(packet, stream.index, reading)) {
      const sent = decoder.sendPacketSync(part);
      if (sent < 0 && sent !== constants.endOfFile) seen.damaged += 1;
      for (;;) {
        const received = decoder.receiveFrameSync(frame);
        if (received === tryAgain || received === constants.endOfFile) break;
        if (received < 0) {
          seen.damaged += 1;
          break;
        }
        seen.frames += 1;
        frame.pts = clock.timeOf(frame);
        yield frame;
        frame.unref();
      }
    }
    if (seen.damaged > (seen.frames + seen.damaged) * maxDamage) throw new AvError('most of the input is damaged');
  }

  /** Yields the packets of a stream, then null, which makes the decoder return its last frames. */
  private *packets(
    packet: Packet,
    index: number,
    reading: 'all' | 'next-key-frame' = 'all',
  ): Generator<Packet | null, void, undefined> {
    let isDone = false;
    // A read error ends the input as its end would: what could be read counts.
    while (!isDone && this.context.readFrameSync(packet) >= 0) {
      if (packet.streamIndex === index && (reading === 'all' || packet.isKeyframe)) {
        yield packet;
        isDone = reading === 'next-key-frame';
      }
      packet.unref();
    }
    yield null;
  }

  private discardOthers(stream: Stream): void {
    for (const other of this.streams) if (other.index !== stream.index) other.discard = constants.discardAll;
  }

  private openDecoder({ codecpar, timeBase }: Stream): CodecContext {
    const codec = this.av.Codec.findDecoder(codecpar.codecId);
    if (codec === null) throw new AvError('there is no decoder for this codec');
    const context = new this.av.CodecContext();
    context.allocContext3(codec);
    checked(this.av, context.parametersToContext(codecpar), 'preparing the decoder');
    context.pktTimebase = timeBase;
    setOptions(this.av, context, { threads: 'auto' });
    checked(this.av, context.open2Sync(codec, null), 'opening the decoder');
    return context;
  }

  /** Start of the file in units of a stream. */
  private offsetOf({ timeBase: { num, den } }: Stream): bigint {
    if (this.startTime === constants.noTime) return 0n;
    return (this.startTime * BigInt(den)) / (BigInt(num) * 1_000_000n);
  }
}

/** Gives frames without a time the end of the frame before. */
class FrameClock {
  private next = 0n;

  constructor(private readonly offset: bigint) {}

  timeOf({ bestEffortTimestamp: stated, duration }: Frame): bigint {
    const time = stated === constants.noTime ? this.next : stated - this.offset;
    this.next = time + (duration > 0n ? duration : 1n);
    return time;
  }
}
