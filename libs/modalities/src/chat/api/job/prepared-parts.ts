import type { ArtifactRecord } from '#storage';
import type { ChatImagePart, ChatVideoPart } from '../../contract/chat.message.js';

/** An image part whose image lies in the storage. */
export interface StoredImagePart extends ChatImagePart {
  stored: { artifactId: string; param: string };
}

/** A frame of a video, stored as an image. */
export interface StoredFrame {
  seconds: number;
  artifactId: string;
  sha256: string;
}

/** A video part whose frames the model reads itself. */
export interface ShownVideoPart extends ChatVideoPart {
  shown: {
    video: ArtifactRecord;
    frames: readonly StoredFrame[];
    /** Path of the part, to name in errors. */
    param: string;
    /** The text of its sound, where another model transcribed it. */
    transcript?: string;
  };
}

/** Returns a position in a video as minutes and seconds. */
export function clockTime(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
