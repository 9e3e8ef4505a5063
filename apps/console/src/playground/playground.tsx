import type { FunctionComponent, JSX } from 'preact';
import { PlaceLink } from '../components/place-link.js';
import type { ViewProps } from '../shell/view-props.js';
import { Speech } from './audio/speech.js';
import { Transcription } from './audio/transcription.js';
import { Chat } from './chat/chat.js';
import { Images } from './images/images.js';
import { useModels } from './models.js';
import { stillComing } from './still-coming.js';
import { Jobs } from './jobs/jobs.js';
import { Embeddings } from './vectors/embeddings.js';
import { Rerank } from './vectors/rerank.js';
import './playground.css';

const tasks: readonly { task: string; title: string; component: FunctionComponent }[] = [
  { task: 'chat', title: 'Chat', component: Chat },
  { task: 'images', title: 'Images', component: Images },
  { task: 'speech', title: 'Speech', component: Speech },
  { task: 'transcription', title: 'Transcription', component: Transcription },
  { task: 'embeddings', title: 'Embeddings', component: Embeddings },
  { task: 'rerank', title: 'Rerank', component: Rerank },
  { task: 'jobs', title: 'Video and audio jobs', component: Jobs },
];

/** One page per task. What runs goes on when the reader looks at another page. */
export function Playground({ place: { entry, filters } }: ViewProps): JSX.Element {
  const current = tasks.find(({ task }) => task === entry) ?? tasks[0];
  if (current === undefined) return <p>There is no task.</p>;
  return (
    <>
      <nav class="tasks" aria-label="Tasks">
        {tasks.map(({ task, title }) => (
          <PlaceLink key={task} view="playground" entry={task} filters={filters} isCurrent={task === current.task}>
            {title}
          </PlaceLink>
        ))}
      </nav>
      <Coming />
      <current.component />
    </>
  );
}

/** Says which models are on their way, so that a first look does not take a part for the whole. */
function Coming(): JSX.Element | null {
  const { data } = useModels('all');
  const text = stillComing(data ?? []);
  return text === null ? null : (
    <p class="weak" role="status">
      {text}
    </p>
  );
}
