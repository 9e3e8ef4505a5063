import type { EventPresenter } from '#gateway';
import type { TranscriptionEvent } from '../contract/transcription.events.js';
import type { TranscriptDelta, TranscriptDone } from '../contract/transcription.response.js';
import { Transcript } from './transcription.presenter.js';

/**
 * A transcript as OpenAI's stream events, window by window as the model writes them. The deltas joined are the text of
 * the last event, which is that of an answer without a stream: white space at its ends is held back.
 */
export class TranscriptStreamPresenter implements EventPresenter<TranscriptionEvent> {
  private readonly transcript = new Transcript();
  private sentLength = 0;

  present(event: TranscriptionEvent): string[] {
    this.transcript.add(event);
    const delta = this.transcript.text.slice(this.sentLength);
    if (delta === '') return [];
    this.sentLength += delta.length;
    return [JSON.stringify({ type: 'transcript.text.delta', delta } satisfies TranscriptDelta)];
  }

  finish(): string[] {
    return [JSON.stringify({ type: 'transcript.text.done', text: this.transcript.text } satisfies TranscriptDone)];
  }
}
