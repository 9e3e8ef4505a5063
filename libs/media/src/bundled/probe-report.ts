import { AvInput } from './av-input.js';
import { turnOf } from './display-matrix.js';
import { constants, type NativeAv, type Ratio, secondsOf, type Stream } from './native-av.js';

/** Names of ffprobe for the values that readers of a report compare. */
const matrices: Readonly<Record<number, string>> = {
  0: 'gbr',
  1: 'bt709',
  4: 'fcc',
  5: 'bt470bg',
  6: 'smpte170m',
  7: 'smpte240m',
  9: 'bt2020nc',
  10: 'bt2020c',
};
const transfers: Readonly<Record<number, string>> = {
  1: 'bt709',
  4: 'bt470m',
  5: 'bt470bg',
  6: 'smpte170m',
  13: 'iec61966-2-1',
  14: 'bt2020-10',
  16: 'smpte2084',
  18: 'arib-std-b67',
};

/** Describes the header of a file in the form of ffprobe. */
export function probeReport(av: NativeAv, input: AvInput): object {
  return {
    format: {
      duration: text(secondsOf(input.duration, constants.microseconds)),
      start_time: text(secondsOf(input.startTime, constants.microseconds)),
    },
    streams: input.streams.map((stream) => describe(av, stream)),
  };
}

function describe(av: NativeAv, stream: Stream): object {
  const { codecpar, timeBase, duration, startTime } = stream;
  const common = {
    codec_type: { [constants.video]: 'video', [constants.audio]: 'audio' }[codecpar.codecType] ?? 'other',
    codec_name: av.avGetCodecName(codecpar.codecId) ?? undefined,
    duration: text(secondsOf(duration, timeBase)),
    start_time: text(secondsOf(startTime, timeBase)),
  };
  if (codecpar.codecType === constants.audio) {
    return { ...common, sample_rate: String(codecpar.sampleRate), channels: codecpar.channels };
  }
  return codecpar.codecType === constants.video ? { ...common, ...describeVideo(stream) } : common;
}

function describeVideo(stream: Stream): object {
  const { codecpar } = stream;
  const aspect = stream.sampleAspectRatio.num > 0 ? stream.sampleAspectRatio : codecpar.sampleAspectRatio;
  return {
    width: codecpar.width,
    height: codecpar.height,
    avg_frame_rate: fraction(stream.avgFrameRate),
    r_frame_rate: fraction(stream.rFrameRate),
    nb_frames: stream.nbFrames > 0n ? String(stream.nbFrames) : undefined,
    sample_aspect_ratio: aspect.num > 0 ? `${aspect.num}:${aspect.den}` : undefined,
    color_space: matrices[codecpar.colorSpace],
    color_transfer: transfers[codecpar.colorTrc],
    disposition: { attached_pic: (stream.disposition & constants.attachedImage) === 0 ? 0 : 1 },
    side_data_list: [{ rotation: turnOf(codecpar.getCodedSideData(constants.displayMatrix)) }],
  };
}

function text(seconds: number | null): string | undefined {
  return seconds === null ? undefined : String(seconds);
}

function fraction({ num, den }: Ratio): string {
  return `${num}/${den}`;
}
