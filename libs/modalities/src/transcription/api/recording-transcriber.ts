import { Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { type LimitedModelRequest, MediaArtifacts, type MediaInputReader, type ModelRequest } from '#gateway';
import { InputTranscriber, type InputTranscription, type RecordingInput } from '#gateway/inputs';
import { identifyMedia, probeAudio, probeVideo } from '#media';
import type { ArtifactRecord } from '#storage';
import { type TranscriptionJobPayload, transcriptionJob } from '../contract/transcription.job.js';
import { boundTranscription, quotedSeconds, quoteTranscription } from '../contract/transcription.meter.js';
import { lifetimeMs, maxVideoBytes } from './recording-input.js';
import { plainTranscript } from './transcription.normalizer.js';
import { Transcript } from './transcription.presenter.js';

type AudioProbe = Awaited<ReturnType<typeof probeAudio>>;

/** Transcribes recordings that chats hold, for models that do not hear. */
@Injectable()
export class RecordingTranscriber extends InputTranscriber {
  constructor(private readonly artifacts: MediaArtifacts) {
    super();
  }

  async prepare(model: ModelRequest, recording: RecordingInput): Promise<InputTranscription> {
    model.requireServed();
    const reader = this.artifacts.inputsOf(model.http, model.manifest.id, lifetimeMs);
    const record = await stored(reader, recording);
    const seconds = await measure(reader, record, recording);
    const { pricing } = await model.price();
    const amountNano = quoteTranscription(seconds, pricing);
    const payload = { ...plainTranscript, artifactId: record.id, maxSeconds: seconds, mayBeSilent: true };
    let limited: LimitedModelRequest | null = null;
    return {
      contentHash: record.sha256,
      seconds,
      amountNano,
      limit: async () => void (limited = await model.limit()),
      run: async (reservedNano) => {
        if (limited === null) throw new Error('The limits of a transcription were not applied.');
        if (seconds === 0) return '';
        return await transcribe(limited, { payload, amountNano: reservedNano, recording });
      },
    };
  }
}

async function stored(reader: MediaInputReader, { source }: RecordingInput): Promise<ArtifactRecord> {
  if ('stored' in source) return await reader.adopt(source.stored);
  return await reader.store(source.bytes, { maxBytes: maxVideoBytes });
}

/** Returns the most seconds that a recording is charged for; 0 for a video without sound. */
async function measure(
  reader: MediaInputReader,
  record: ArtifactRecord,
  { kind, param, containers, maxSeconds }: RecordingInput,
): Promise<number> {
  const limits = { maxSeconds, signal: reader.disconnected };
  const probe = async (path: string): Promise<AudioProbe | null> => {
    const { container } = await identifyMedia({ path });
    if (container === null || !containers.includes(container)) {
      throw invalid(`${param} must be one of: ${containers.join(', ')}.`, param);
    }
    const hasSound = kind === 'recording' || (await probeVideo(reader.tools, { path }, limits)).audio !== null;
    return hasSound ? await probeAudio(reader.tools, { path }, limits) : null;
  };
  const probed = await reader.withFile(record.id, probe).catch((error: unknown) => {
    throw named(error, param);
  });
  if (probed === null) return 0;
  const { durationSeconds } = probed;
  if (durationSeconds !== null && durationSeconds <= 0) throw invalid(`${param} contains no audio.`, param);
  return quotedSeconds({ bytes: record.bytes, durationSeconds }, maxSeconds);
}

async function transcribe(
  limited: LimitedModelRequest,
  jobSpec: { payload: TranscriptionJobPayload; amountNano: bigint; recording: RecordingInput },
): Promise<string> {
  const { payload, amountNano, recording } = jobSpec;
  const { deadlineMs, param } = recording;
  try {
    const bounds = boundTranscription(payload.maxSeconds);
    const job = { definition: transcriptionJob, payload, bounds, amountNano, deadlineMs };
    return (await limited.collect(job, () => new Transcript())).collected.text;
  } catch (error) {
    throw named(error, param);
  }
}

/** Turns what is wrong with a recording into an error that names its field. Other errors stay. */
function named(error: unknown, param: string): unknown {
  if (!(error instanceof PlatformError)) return error;
  const { code, message } = error;
  if (code === 'INVALID_AUDIO_FORMAT' || code === 'ASR_UPSTREAM_VALIDATION_FAILED')
    return invalid(message, param, error);
  if (code === 'PAYLOAD_TOO_LARGE' || code === 'VIDEO_DURATION_TOO_LONG') {
    return new PlatformError('PAYLOAD_TOO_LARGE', message, param, { cause: error });
  }
  if (code === 'INVALID_VIDEO_FORMAT') return new PlatformError(code, message, param, { cause: error });
  if (code === 'ASR_UPSTREAM_FAILED') {
    return new PlatformError('INFERENCE_FAILED', 'The transcription of an input failed.', param, { cause: error });
  }
  return error;
}

function invalid(message: string, param: string, cause?: unknown): PlatformError {
  return new PlatformError('INVALID_AUDIO_FORMAT', message, param, { cause });
}
