import {
  checked,
  constants,
  type FilterContext,
  type FilterGraph,
  type Frame,
  type NativeAv,
  type Ratio,
  tryAgain,
} from './native-av.js';

/** A chain of filters with one input and one output. */
export class FilterChain {
  private readonly graph: FilterGraph;
  private readonly source: FilterContext;
  private readonly sink: FilterContext;
  private readonly output: Frame;

  private constructor(
    private readonly av: NativeAv,
    { source, filters, sink }: { source: string; filters: readonly string[]; sink: string },
  ) {
    this.graph = new av.FilterGraph();
    this.graph.alloc();
    const chain = [source, ...filters, `${sink}@out`].join(',');
    checked(av, this.graph.parsePtr(chain, null, null), 'building the filters');
    checked(av, this.graph.configSync(), 'connecting the filters');
    const [first, last] = [
      this.graph.getFilter(source.slice(0, source.indexOf('='))),
      this.graph.getFilter(`${sink}@out`),
    ];
    if (first === null || last === null) throw new Error('the filters have no ends');
    this.source = first;
    this.sink = last;
    this.output = new av.Frame();
    this.output.alloc();
  }

  /** A chain for samples like those of `frame`. */
  static forAudio(av: NativeAv, frame: Frame, timeBase: Ratio, filters: readonly string[]): FilterChain {
    return new FilterChain(av, {
      source: `abuffer@in=${audioForm(av, frame, timeBase)}`,
      filters,
      sink: 'abuffersink',
    });
  }

  /** A chain for images like that of `frame`. */
  static forVideo(av: NativeAv, frame: Frame, timeBase: Ratio, filters: readonly string[]): FilterChain {
    const { width, height, sampleAspectRatio: aspect, colorSpace, colorRange } = frame;
    const source = [
      `buffer@in=video_size=${width}x${height}`,
      `pix_fmt=${av.avGetPixFmtName(frame.format) ?? ''}`,
      `time_base=${timeBase.num}/${timeBase.den}`,
      `pixel_aspect=${aspect.num}/${Math.max(1, aspect.den)}`,
      `colorspace=${colorSpace}`,
      `range=${colorRange}`,
    ].join(':');
    return new FilterChain(av, { source, filters, sink: 'buffersink' });
  }

  get timeBase(): Ratio {
    return this.sink.buffersinkGetTimeBase();
  }

  /** Yields what comes out after one frame, or after the last with null. A frame is valid until the next one. */
  *push(frame: Frame | null): Generator<Frame, void, undefined> {
    const added = this.source.buffersrcAddFrameSync(frame, 0);
    if (added !== constants.endOfFile) checked(this.av, added, 'filtering');
    yield* this.pull();
  }

  private *pull(): Generator<Frame, void, undefined> {
    for (;;) {
      const received = this.sink.buffersinkGetFrameSync(this.output);
      if (received === tryAgain || received === constants.endOfFile) return;
      checked(this.av, received, 'filtering');
      try {
        yield this.output;
      } finally {
        this.output.unref();
      }
    }
  }

  free(): void {
    this.graph.free();
  }
}

/** Describes samples as the filter `abuffer` wants it. Two frames with the same description fit the same chain. */
export function audioForm(av: NativeAv, frame: Frame, timeBase: Ratio): string {
  const { sampleRate, format, channelLayout } = frame;
  const layout = av.avChannelLayoutDescribe(channelLayout) ?? `${channelLayout.nbChannels}c`;
  return [
    `time_base=${timeBase.num}/${timeBase.den}`,
    `sample_rate=${sampleRate}`,
    `sample_fmt=${av.avGetSampleFmtName(format) ?? ''}`,
    `channel_layout=${layout}`,
  ].join(':');
}
