import { Menu as Base } from '@base-ui/react/menu';
import { Popover as BasePopover } from '@base-ui/react/popover';
import { Tabs as BaseTabs } from '@base-ui/react/tabs';
import { Tooltip as BaseTooltip } from '@base-ui/react/tooltip';
import type { ReactElement, ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  readonly label: ReactNode;
  readonly icon?: IconName;
  readonly isDanger?: boolean;
  readonly isChosen?: boolean;
  readonly onSelect: () => void;
}

/** Things to do, behind a button. `null` is a line between groups. */
export const Menu = ({
  trigger,
  items,
  label,
}: {
  readonly trigger: ReactElement<Record<string, unknown>>;
  readonly items: readonly (MenuItem | null)[];
  readonly label?: string;
}) => (
  <Base.Root modal={false}>
    <Base.Trigger render={trigger} />
    <Base.Portal>
      <Base.Positioner className="popup-place" sideOffset={5} align="end" collisionPadding={8}>
        <Base.Popup className="popup menu" aria-label={label}>
          {items.map((item, index) =>
            item === null ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: a menu keeps its order
              <Base.Separator key={index} className="menu-line" />
            ) : (
              <Base.Item
                // biome-ignore lint/suspicious/noArrayIndexKey: a menu keeps its order
                key={index}
                className={`menu-item ${item.isDanger ? 'menu-danger' : ''}`}
                onClick={item.onSelect}
              >
                {item.icon && <Icon name={item.icon} />}
                <span className="truncate">{item.label}</span>
                {item.isChosen && <Icon name="check" />}
              </Base.Item>
            ),
          )}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  </Base.Root>
);

/** A small panel beside a button. */
export const Popover = ({
  label,
  trigger,
  children,
  isOpen,
  onOpenChange,
}: {
  /** Names the panel for people who do not see it. */
  readonly label: string;
  readonly trigger: ReactElement<Record<string, unknown>>;
  readonly children: ReactNode;
  readonly isOpen?: boolean;
  readonly onOpenChange?: (isOpen: boolean) => void;
}) => (
  <BasePopover.Root open={isOpen} onOpenChange={(open) => onOpenChange?.(open)}>
    <BasePopover.Trigger render={trigger} />
    <BasePopover.Portal>
      <BasePopover.Positioner className="popup-place" sideOffset={5} align="start" collisionPadding={8}>
        <BasePopover.Popup className="popup popover" aria-label={label}>
          {children}
        </BasePopover.Popup>
      </BasePopover.Positioner>
    </BasePopover.Portal>
  </BasePopover.Root>
);

/** A word about what the pointer or the focus is on. Never the only place where something is said. */
export const Tooltip = ({
  text,
  children,
}: {
  readonly text: ReactNode;
  readonly children: ReactElement<Record<string, unknown>>;
}) => (
  <BaseTooltip.Root>
    <BaseTooltip.Trigger render={children} />
    <BaseTooltip.Portal>
      <BaseTooltip.Positioner className="popup-place" sideOffset={6} collisionPadding={8}>
        <BaseTooltip.Popup className="tooltip">{text}</BaseTooltip.Popup>
      </BaseTooltip.Positioner>
    </BaseTooltip.Portal>
  </BaseTooltip.Root>
);

export interface Tab<Value extends string = string> {
  readonly value: Value;
  readonly label: ReactNode;
  readonly content: ReactNode;
}

export function Tabs<Value extends string>({
  label,
  tabs,
  value,
  onChange,
}: {
  readonly label: string;
  readonly tabs: readonly Tab<Value>[];
  /** Left out: the tabs remember by themselves. */
  readonly value?: Value;
  readonly onChange?: (value: Value) => void;
}) {
  return (
    <BaseTabs.Root
      value={value}
      defaultValue={value === undefined ? tabs[0]?.value : undefined}
      onValueChange={(next) => onChange?.(next as Value)}
    >
      <BaseTabs.List className="tabs" aria-label={label}>
        {tabs.map((tab) => (
          <BaseTabs.Tab key={tab.value} value={tab.value} className="tab">
            {tab.label}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {tabs.map((tab) => (
        <BaseTabs.Panel key={tab.value} value={tab.value} className="tab-panel">
          {tab.content}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  );
}
