import {
  AvError,
  checked,
  type Codec,
  type CodecContext,
  constants,
  type FormatContext,
  type Frame,
  type IoContext,
  type NativeAv,
  type Packet,
  type Ratio,
  setOptions,
  type Stream,
  tryAgain,
} from './native-av.js';

export interface EncoderChoice {
  name: string;
  options: Readonly<Record<string, string>>;
}

/** A file or pipe that encoded tracks are written to. */
export class AvOutput {
  private readonly context: FormatContext;
  private readonly io: IoContext;

  constructor(
    private readonly av: NativeAv,
    { format, url }: { format: string; url: string },
  ) {
    this.context = new av.FormatContext();
    checked(av, this.context.allocOutputContext2(null, format, url), 'choosing the format');
    this.io = new av.IOContext();
    checked(av, this.io.open2Sync(url, constants.write), 'opening the output');
    this.context.pb = this.io;
    this.context.flags |= constants.flushPackets;
  }

  get bytes(): number {
    return Number(this.io.tell());
  }

  /** Adds an audio track of samples like those of `frame`. */
  addAudio(choice: EncoderChoice, frame: Frame): AvEncoder {
    const timeBase = { num: 1, den: frame.sampleRate };
    return this.add(choice, timeBase, (encoder) => {
      encoder.sampleRate = frame.sampleRate;
      encoder.sampleFormat = frame.format;
      encoder.channelLayout = frame.channelLayout;
    });
  }

  /** Adds a video track of images like `frame`, in BT.709. */
  addVideo(choice: EncoderChoice, frame: Frame, fps: Ratio): AvEncoder {
    const timeBase = { num: fps.den, den: fps.num };
    const encoder = this.add(choice, timeBase, (context) => {
      context.width = frame.width;
      context.height = frame.height;
      context.pixelFormat = frame.format;
      context.sampleAspectRatio = frame.sampleAspectRatio;
      context.framerate = fps;
      context.colorRange = 1;
      context.colorPrimaries = 1;
      context.colorTrc = 1;
      context.colorSpace = 1;
    });
    encoder.stream.avgFrameRate = fps;
    encoder.stream.sampleAspectRatio = frame.sampleAspectRatio;
    return encoder;
  }

  /** Call after the last track was added. */
  start(options: Readonly<Record<string, string>>): void {
    setOptions(this.av, this.context, options);
    checked(this.av, this.context.writeHeaderSync(null), 'writing the header');
  }

  write(packet: Packet): void {
    checked(this.av, this.context.interleavedWriteFrameSync(packet), 'writing');
  }

  finish(): void {
    checked(this.av, this.context.writeTrailerSync(), 'finishing the file');
    checked(this.av, this.io.closepSync(), 'closing the file');
  }

  private add(choice: EncoderChoice, timeBase: Ratio, prepare: (context: CodecContext) => void): AvEncoder {
    const codec = this.av.Codec.findEncoderByName(choice.name);
    if (codec === null) throw new AvError(`there is no encoder ${choice.name}`);
    const context = new this.av.CodecContext();
    context.allocContext3(codec);
    context.timeBase = timeBase;
    prepare(context);
    const wanted = this.context.oformat?.flags ?? 0;
    if ((wanted & constants.formatWantsGlobalHeader) !== 0) context.flags |= constants.globalHeader;
    setOptions(this.av, context, choice.options);
    checked(this.av, context.open2Sync(codec, null), `opening ${choice.name}`);
    return new AvEncoder(this.av, this, context, this.newStream(codec, context));
  }

  private newStream(codec: Codec, context: CodecContext): Stream {
    const stream = this.context.newStream(codec);
    checked(this.av, stream.codecpar.fromContext(context), 'describing the track');
    stream.timeBase = context.timeBase;
    return stream;
  }
}

/** Encodes the frames of one track. */
export class AvEncoder {
  private readonly packet: Packet;

  constructor(
    private readonly av: NativeAv,
    private readonly output: AvOutput,
    private readonly context: CodecContext,
    readonly stream: Stream,
  ) {
    this.packet = new av.Packet();
    this.packet.alloc();
  }

  /** Samples that the encoder takes at a time; 0: any number. */
  get frameSize(): number {
    return this.context.frameSize;
  }

  /** Encodes one frame, whose time is in units of the encoder; null ends the track. */
  encode(frame: Frame | null): void {
    checked(this.av, this.context.sendFrameSync(frame), 'encoding');
    for (;;) {
      const received = this.context.receivePacketSync(this.packet);
      if (received === tryAgain || received === constants.endOfFile) return;
      checked(this.av, received, 'encoding');
      this.packet.streamIndex = this.stream.index;
      this.packet.rescaleTs(this.context.timeBase, this.stream.timeBase);
      this.output.write(this.packet);
    }
  }
}
