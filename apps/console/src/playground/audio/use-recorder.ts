import { useEffect, useRef, useState } from 'preact/hooks';

export interface MicrophoneRecorder {
  isRecording: boolean;
  /** A sentence; null: none. */
  problem: string | null;
  start(): void;
  stop(): void;
}

/** Records the microphone. `onRecorded` gets the recording as a file. */
export function useRecorder(onRecorded: (file: File) => void): MicrophoneRecorder {
  const recorder = useRef<MediaRecorder | null>(null);
  const [isRecording, setRecording] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => () => release(recorder.current), []);

  const start = (): void => {
    setProblem(null);
    // Browsers offer the microphone on https and localhost only.
    if (navigator.mediaDevices === undefined) {
      setProblem('The browser allows the microphone only on https and on localhost.');
      return;
    }
    navigator.mediaDevices.getUserMedia({ audio: true }).then(
      (stream) => {
        const created = new MediaRecorder(stream);
        const pieces: Blob[] = [];
        created.addEventListener('dataavailable', ({ data }) => pieces.push(data));
        created.addEventListener('stop', () => {
          release(created);
          setRecording(false);
          const type = created.mimeType.split(';')[0] ?? 'audio/webm';
          onRecorded(new File(pieces, `recording.${type.split('/')[1] ?? 'webm'}`, { type }));
        });
        recorder.current = created;
        created.start();
        setRecording(true);
      },
      () => setProblem('The browser did not allow the microphone.'),
    );
  };
  return { isRecording, problem, start, stop: () => recorder.current?.stop() };
}

/** Ends the use of the microphone, which browsers show. */
function release(recorder: MediaRecorder | null): void {
  for (const track of recorder?.stream.getTracks() ?? []) track.stop();
}
