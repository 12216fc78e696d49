/** What people do now and in the last time: a chart and a total for each number, and all of them as a table. */

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { LiveChart } from './live-chart.tsx';
import {
  ACTIVITY_KINDS,
  type ActivityKind,
  LIVE_RANGES,
  type LiveRange,
  listOf,
  POLL_MS,
  STEP_OF,
  total,
} from './live-ranges.ts';
import { Problem, useConsole } from './parts.tsx';
import { listHref } from './route.ts';
import type { Language } from './text.ts';
import type { ActivityPoint } from './wire.ts';

/** Points as they were last read, again and again while the page is seen. */
function useActivity(range: LiveRange) {
  const { client } = useConsole();
  const [points, setPoints] = useState<ActivityPoint[]>([]);
  const [problem, setProblem] = useState<unknown>(null);
  const read = useCallback(async () => {
    try {
      const series = await client.stats(STEP_OF[range]);
      setPoints(series.data);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  }, [client, range]);
  useEffect(() => {
    const readIfSeen = () => {
      if (document.visibilityState === 'visible') void read();
    };
    readIfSeen();
    const timer = setInterval(readIfSeen, POLL_MS[range]);
    document.addEventListener('visibilitychange', readIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', readIfSeen);
    };
  }, [read, range]);
  return { points, problem, read };
}

/** How the axis names a moment, and how one point is named. Days are those of UTC. */
function formats(range: LiveRange, language: Language) {
  const locale = language === 'zh' ? 'zh-CN' : 'en';
  const day = { day: 'numeric', month: 'short' } as const;
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const utc = range === 'month' ? { timeZone: 'UTC' } : {};
  const make = (parts: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...parts, ...utc });
  const axis = make(range === 'month' ? day : time);
  return { axis, point: make(range === 'month' ? day : { ...day, ...time }) };
}

export function Live({ range }: { range: LiveRange }) {
  const { text, language, hasSearch } = useConsole();
  const { points, problem, read } = useActivity(range);
  const format = useMemo(() => formats(range, language), [range, language]);
  return (
    <section class="page live">
      <h2>{text.live}</h2>
      <p class="buttons tabs">
        {LIVE_RANGES.map((one) => (
          <a
            key={one}
            href={listHref('live', { range: one })}
            aria-current={one === range ? 'true' : undefined}
          >
            {text.ranges[one]}
          </a>
        ))}
      </p>
      {Boolean(problem) && <Problem problem={problem} onRetry={() => void read()} />}
      <div class="charts">
        {ACTIVITY_KINDS.map((kind) => (
          <div key={kind} class="card">
            <h3>
              {text.activity[kind]}{' '}
              <Count kind={kind} points={points} range={range} name={text.activity[kind]} />
            </h3>
            <LiveChart
              points={points}
              kind={kind}
              isUtc={range === 'month'}
              hrefOf={(point) => listOf(kind, [point], range, hasSearch)}
              axisFormat={format.axis}
              pointFormat={format.point}
            />
          </div>
        ))}
      </div>
      <p class="quiet">{text.liveText}</p>
      <details>
        <summary>{text.asTable}</summary>
        <Table points={points} range={range} format={format.point} />
      </details>
    </section>
  );
}

/** What points count together, as a link to the list of it; `name` says what it counts. */
function Count({
  kind,
  points,
  range,
  name,
}: {
  kind: ActivityKind;
  points: readonly ActivityPoint[];
  range: LiveRange;
  name: string;
}) {
  const { text, hasSearch } = useConsole();
  const count = total(points, kind);
  const href = listOf(kind, points, range, hasSearch);
  if (!href) return <b>{count}</b>;
  return (
    <a href={href} aria-label={text.listOf(name, count)}>
      {count}
    </a>
  );
}

/** The newest first. */
function Table({
  points,
  range,
  format,
}: {
  points: readonly ActivityPoint[];
  range: LiveRange;
  format: Intl.DateTimeFormat;
}) {
  const { text } = useConsole();
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{text.when}</th>
          {ACTIVITY_KINDS.map((kind) => (
            <th key={kind} scope="col">
              {text.activity[kind]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {points.toReversed().map((point) => (
          <tr key={point.at}>
            <td>
              <time dateTime={new Date(point.at).toISOString()}>{format.format(point.at)}</time>
            </td>
            {ACTIVITY_KINDS.map((kind) => (
              <td key={kind}>
                {point[kind] === 0 ? (
                  0
                ) : (
                  <Count
                    kind={kind}
                    points={[point]}
                    range={range}
                    name={`${text.activity[kind]}, ${format.format(point.at)}`}
                  />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
