"""How large elastic gangs are: units, the tree of their scores, two policies, and the room they plan with.

unit         a gang as a policy sees it: level, least and most, what it has got so far
cfs          the ordered tree of units
policy       what the two have in common: a plan is made of units and room
fair         the default: evens out scores, from the leftmost unit up and from the rightmost down
fulfilment   the other one: the least fulfilled first, and load that is kept below a limit
room         where one more member fits, which is the session's own answer
limits       quotas of users and namespaces, and the load
"""
