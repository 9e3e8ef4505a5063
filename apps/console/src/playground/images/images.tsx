import type { JSX } from 'preact';
import { EditImage } from './edit-image.js';
import { GenerateImage } from './generate-image.js';

export function Images(): JSX.Element {
  return (
    <div class="columns">
      <section class="panel" aria-labelledby="generate-image">
        <h2 id="generate-image">Generate</h2>
        <GenerateImage />
      </section>
      <section class="panel" aria-labelledby="edit-image">
        <h2 id="edit-image">Change an image</h2>
        <EditImage />
      </section>
    </div>
  );
}
