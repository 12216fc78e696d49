/**
 * One number over time, as bars; a click on one opens the list of what it counts. The table of the section has the same
 * numbers and links for those who do not see it.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { ActivityKind } from './live-ranges.ts';
import type { ActivityPoint } from './wire.ts';

const HEIGHT_PX = 132;
const AXIS_FONT = '11px system-ui, sans-serif';

/** The colours are those that the style sheet gives to the host: they follow light and dark. */
function options(
  host: HTMLElement,
  format: (atMs: number) => string,
  isUtc: boolean,
  onPoint: (index: number | null) => void,
  onOpen: (index: number) => void,
): uPlot.Options {
  const style = getComputedStyle(host);
  const quiet = () => style.outlineColor;
  const line = () => style.borderTopColor;
  const axis = { stroke: quiet, font: AXIS_FONT, ticks: { show: false } };
  return {
    width: Math.max(host.clientWidth, 1),
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    tzDate: (at) => {
      const date = new Date(at * 1_000);
      return isUtc ? uPlot.tzDate(date, 'Etc/UTC') : date;
    },
    padding: [10, 4, 0, 0],
    scales: {
      x: { range: (chart, first, last) => withHalfBars(first, last, chart.data[0].length) },
      y: { range: (_, __, max) => [0, Math.max(max, 4)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        values: (_, at) => at.map((s) => format(s * 1_000)),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 38,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5, 1e6, 1e7],
        values: (_, counts) => counts.map(shortCount),
      },
    ],
    series: [
      {},
      {
        stroke: () => style.color,
        fill: () => style.color,
        width: 0,
        points: { show: false },
        ...bars(),
      },
    ],
    hooks: {
      setCursor: [(chart) => onPoint(chart.cursor.idx ?? null)],
      ready: [
        ({ over, cursor }) =>
          over.addEventListener(
            'click',
            () => typeof cursor.idx === 'number' && onOpen(cursor.idx),
          ),
      ],
    },
  };
}

/** The time of the bars, with room for a half of the first and of the last one. */
function withHalfBars(first: number, last: number, count: number): [number, number] {
  const half = count > 1 ? (last - first) / (count - 1) / 2 : 30;
  return [first - half, last + half];
}

function bars(): { paths?: uPlot.Series.PathBuilder } {
  const paths = uPlot.paths.bars?.({ size: [0.7, 24] });
  return paths ? { paths } : {};
}

/** 12000 as 12k: an axis is narrow. */
const shortCount = (n: number) => (n >= 1_000 ? `${n / 1_000}k` : String(n));

export function LiveChart({
  points,
  kind,
  isUtc,
  hrefOf,
  axisFormat,
  pointFormat,
}: {
  points: readonly ActivityPoint[];
  kind: ActivityKind;
  /** The list of what a point counts; null where there is none. */
  hrefOf: (point: ActivityPoint) => string | null;
  /** Whether the points are days of UTC. */
  isUtc: boolean;
  axisFormat: Intl.DateTimeFormat;
  pointFormat: Intl.DateTimeFormat;
}) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const open = useRef((_: number) => {});
  open.current = (index) => {
    const point = points[index];
    const href = point && point[kind] > 0 ? hrefOf(point) : null;
    if (href) location.hash = href;
  };
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const format = (at: number) => axisFormat.format(at);
    const onOpen = (index: number) => open.current(index);
    const made = new uPlot(options(element, format, isUtc, setHovered, onOpen), [[], []], element);
    chart.current = made;
    const resized = new ResizeObserver(() =>
      made.setSize({ width: Math.max(element.clientWidth, 1), height: HEIGHT_PX }),
    );
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => made.redraw(false);
    scheme.addEventListener('change', redraw);
    return () => {
      scheme.removeEventListener('change', redraw);
      resized.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [axisFormat, isUtc]);
  // After the effect above, also where it has made another chart.
  useEffect(() => {
    chart.current?.setData([points.map(({ at }) => at / 1_000), points.map((one) => one[kind])]);
  }, [points, kind, axisFormat, isUtc]);
  const shown = points[hovered ?? points.length - 1];
  return (
    <div class="chart" aria-hidden="true">
      <div class="plot" ref={host} />
      <p class="quiet">{shown && `${pointFormat.format(shown.at)} · ${shown[kind]}`}</p>
    </div>
  );
}
