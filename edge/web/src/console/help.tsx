/** The keys of the console. */

import { Dialog } from './dialog.tsx';
import { useConsole } from './parts.tsx';

type KeyRow = [keys: string[], meaning: string];

export function Help({ onClose }: { onClose: () => void }) {
  const { text } = useConsole();
  const ofComments: KeyRow[] = [
    [['J', 'K'], text.keyPrevious],
    [['A'], text.keyPublish],
    [['R'], text.reject],
    [['H'], text.hide],
    [['D'], text.delete],
    [['F'], text.feature],
    [['P'], text.keyPin],
    [['X'], text.mark],
    [['Shift', 'J'], text.keyMarkOn],
    [['M'], text.keyMute],
    [['W'], text.keyWord],
  ];
  const ofRejected: KeyRow[] = [
    [['A'], text.accept],
    [['D'], text.drop],
  ];
  const everywhere: KeyRow[] = [
    [['Z'], text.keyUndo],
    [['/'], text.keySearch],
    [['?'], text.keyHelp],
    [['Esc'], text.close],
  ];
  return (
    <Dialog title={text.keys} onClose={onClose}>
      {() => (
        <>
          <h3 class="label">{text.keysOfQueue}</h3>
          <KeyList rows={ofComments} />
          <h3 class="label">{text.keysOfRejected}</h3>
          <KeyList rows={ofRejected} />
          <h3 class="label">{text.keysEverywhere}</h3>
          <KeyList rows={everywhere} />
        </>
      )}
    </Dialog>
  );
}

function KeyList({ rows }: { rows: KeyRow[] }) {
  return (
    <dl class="key-list">
      {rows.map(([keys, meaning]) => (
        <div key={meaning}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
