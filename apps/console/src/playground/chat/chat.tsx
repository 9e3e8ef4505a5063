import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CheckField, SelectField } from '../../components/fields.js';
import { Empty, QueryView } from '../../components/states.js';
import { isOnline, type Model, modelOptions, useChosenModel, useModels } from '../models.js';
import { AnswerView } from './answer-view.js';
import { type Attachment, emptySettings, type Question, SettingError } from './chat-request.js';
import { Composer } from './composer.js';
import { type Answer, type Conversation, conversations, useConversation } from './conversation.js';
import { CopyAsPanel } from './copy-as-panel.js';
import { SettingsPanel } from './settings-panel.js';

/** Chat with one model, or with two that get the same messages. */
export function Chat(): JSX.Element {
  const models = useModels('text');
  return <QueryView query={models}>{(list) => <ChatWith models={list} />}</QueryView>;
}

function ChatWith({ models }: { models: Model[] }): JSX.Element {
  const [first, chooseFirst] = useChosenModel(models, 0);
  const [second, chooseSecond] = useChosenModel(models, 1);
  const [isComparing, setComparing] = useState(conversations[1].turns.length > 0);
  const [settings, setSettings] = useState(emptySettings);
  const [problem, setProblem] = useState<string | null>(null);
  const left = useConversation(conversations[0]);
  const right = useConversation(conversations[1]);
  const columns = [
    { conversation: left, model: first, choose: chooseFirst },
    ...(isComparing ? [{ conversation: right, model: second, choose: chooseSecond }] : []),
  ];

  const send = (content: string, attachments: readonly Attachment[]): boolean => {
    const question: Question = { role: 'user', content, attachments };
    setProblem(null);
    try {
      for (const { conversation, model } of columns) conversation.ask(model, settings, question);
      return true;
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      setProblem(error.message);
      return false;
    }
  };
  const last = left.turns.at(-1);
  return (
    <>
      {!models.some(isOnline) && (
        <p class="notice notice-warning" role="status">
          No text model is online yet. The first one appears here by itself.
        </p>
      )}
      <SettingsPanel settings={settings} change={(changes) => setSettings({ ...settings, ...changes })} />
      <CheckField label="Compare two models" isChecked={isComparing} onChange={setComparing} />
      <div class={isComparing ? 'columns' : undefined}>
        {columns.map(({ conversation, model, choose }, index) => (
          <Column key={index} conversation={conversation} models={models} model={model} choose={choose} />
        ))}
      </div>
      {problem !== null && (
        <p class="notice notice-error" role="alert">
          {problem}
        </p>
      )}
      <Composer
        send={send}
        stop={() => columns.forEach(({ conversation }) => conversation.stop())}
        clear={() => columns.forEach(({ conversation }) => conversation.clear())}
        isRunning={columns.some(({ conversation }) => conversation.isRunning)}
        isEmpty={left.turns.length === 0}
        canSend={models.length > 0}
      />
      {last?.role === 'assistant' && <CopyAsPanel route="chat/completions" body={last.body} />}
    </>
  );
}

interface ColumnProps {
  conversation: Conversation;
  models: readonly Model[];
  model: string;
  choose: (id: string) => void;
}

function Column({ conversation, models, model, choose }: ColumnProps): JSX.Element {
  return (
    <section class="column" aria-label={`Chat with ${model}`}>
      <SelectField label="Model" value={model} onChange={choose} options={modelOptions(models)} />
      {conversation.turns.length === 0 && <Empty>Ask something. The answer appears here as it is written.</Empty>}
      {conversation.turns.map((turn, index) =>
        turn.role === 'user' ? (
          <QuestionView key={index} question={turn} />
        ) : (
          <AnswerView key={index} answer={turn} contextTokens={contextOf(models, turn)} />
        ),
      )}
    </section>
  );
}

function QuestionView({ question: { content, attachments } }: { question: Question }): JSX.Element {
  return (
    <article class="question" aria-label="Your message">
      {attachments.map(({ kind, name, dataUrl }) =>
        kind === 'image' ? (
          <img key={name} src={dataUrl} alt={name} />
        ) : (
          <p key={name} class="weak small">
            {name}
          </p>
        ),
      )}
      <p class="plain">{content}</p>
    </article>
  );
}

function contextOf(models: readonly Model[], { model }: Answer): number | null {
  const found = models.find(({ id }) => id === model);
  return found?.context_length ?? found?.model_spec.availableContextTokens ?? null;
}
