// Package v20170312 takes the place of the SDK's VPC client: every request is refused, so a cluster that asks Flannel for
// the tencent-vpc backend is told at once that this build does not have it.
package v20170312

import "errors"

var errAbsent = errors.New("this build of Flannel is without the tencent-vpc backend: its cloud SDK was left out")

type Client struct{}

func NewClientWithSecretId(id, key, region string) (*Client, error) { return &Client{}, errAbsent }

type Filter struct {
	Name   *string
	Values []*string
}

type Route struct {
	RouteId                                                 *uint64
	DestinationCidrBlock, RouteType, GatewayType, GatewayId *string
	Enabled                                                 *bool
}

type RouteTable struct {
	RouteTableId *string
	RouteSet     []*Route
}

type DescribeRouteTablesRequest struct{ Filters []*Filter }

type DescribeRouteTablesResponse struct {
	Response *struct{ RouteTableSet []*RouteTable }
}

type routesRequest struct {
	RouteTableId *string
	Routes       []*Route
}

type CreateRoutesRequest struct{ routesRequest }

type DeleteRoutesRequest struct{ routesRequest }

type Done struct{}

func NewDescribeRouteTablesRequest() *DescribeRouteTablesRequest {
	return &DescribeRouteTablesRequest{}
}

func NewCreateRoutesRequest() *CreateRoutesRequest { return &CreateRoutesRequest{} }

func NewDeleteRoutesRequest() *DeleteRoutesRequest { return &DeleteRoutesRequest{} }

func (*Client) DescribeRouteTables(*DescribeRouteTablesRequest) (*DescribeRouteTablesResponse, error) {
	return nil, errAbsent
}

func (*Client) CreateRoutes(*CreateRoutesRequest) (*Done, error) { return nil, errAbsent }

func (*Client) DeleteRoutes(*DeleteRoutesRequest) (*Done, error) { return nil, errAbsent }
